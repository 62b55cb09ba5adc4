"""The training image without a job."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.containers.emulated_mpi_job import EmulatedMpiJob
from tests.containers.podman import Podman
from training_workloads.recipes import recipe


@pytest.fixture(scope="module")
def run(podman: Podman, image: str) -> Callable[..., str]:
    """Return a function that runs a command in a new container."""

    def command(*words: str) -> str:
        return podman("run", "--rm", "--network", "none", image, *words)

    return command


@pytest.fixture(scope="module")
def workers(job: Callable[..., EmulatedMpiJob], claim: Callable[[], Path]) -> Iterator[EmulatedMpiJob]:
    """Return a job whose workers are ready."""
    with job(recipe("digits", "image"), claim()) as started:
        started.wait(lambda: all(worker.ready() for worker in started.workers), 30)
        yield started


def test_is_not_root(podman: Podman, image: str, run: Callable[..., str]) -> None:
    # By number: Kubernetes cannot verify that a name is not root.
    assert podman("image", "inspect", "--format", "{{.Config.User}}", image) == "1000:1000"
    assert run("id", "-u") == "1000"


def test_contains_no_key(podman: Podman, image: str) -> None:
    keys = ("-name", "ssh_host_*", "-o", "-name", "id_*", "-o", "-name", "authorized_keys")
    everywhere = ("--user", "0", "--network", "none", image, "find", "/etc/ssh", "/home", "/root", *keys)
    assert podman("run", "--rm", *everywhere) == ""


def test_contains_no_settings_of_the_machine_that_built_it(run: Callable[..., str]) -> None:
    assert run("cat", "/etc/pip.conf") == ""
    assert "PIP_" not in run("env")


def test_has_open_mpi_4_and_horovod_with_mpi_and_gloo(run: Callable[..., str]) -> None:
    assert run("mpirun", "--version").startswith("mpirun (Open MPI) 4.1.")
    check = run("horovodrun", "--check-build")
    for part in ("TensorFlow", "MPI", "Gloo"):
        assert f"[X] {part}" in check


@pytest.mark.parametrize("program", ["python", "mpirun", "horovodrun"])
def test_a_rank_finds_its_programs_over_ssh(program: str, workers: EmulatedMpiJob) -> None:
    first, second = workers.workers
    name = f"{second.name}.image.default.svc"
    here, there = first.execute("which", program), first.execute("ssh", name, "which", program)
    assert (here, there) == (here, here)
    assert first.execute("ssh", name, "hostname") == "image-worker-1"


def test_the_image_tests_itself(run: Callable[..., str]) -> None:
    quick = [
        f"tests/training/{name}.py"
        for name in (
            "digits/test_digit_batches",
            "runtime/test_schedule",
            "runtime/test_checkpoint",
            "runtime/test_files",
        )
    ]
    assert " passed" in run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *quick)
