"""The rendered digits job in containers, undisturbed and with a killed worker."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.containers.conftest import Phase
from tests.containers.emulated_mpi_job import EmulatedMpiJob
from tests.containers.podman import Podman
from training_workloads.recipes import recipe

# The start of a rank's command line.
RANK = ["python", "-m", "training.digits"]

KEYS = "stat --dereference --format '%a %u' ~/.ssh/*"
SHM = "df --output=size /dev/shm | tail -1"
POWERS = "grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status"
CONFIG = "ls /etc/mpi; stat --dereference --format '%a %u' /etc/mpi/*"
# Commands whose answer is only known inside a container.
QUESTIONS = (
    "hostname",
    "touch ~/.ssh/known_hosts",
    KEYS,
    SHM,
    POWERS,
    CONFIG,
    "cat /etc/mpi/hostfile",
    "ls /fsx",
    "env",
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a job, and its observations."""

    succeeded: bool
    logs: list[str]
    output: Path
    processes: dict[str, list[tuple[int, list[str]]]]
    answers: dict[str, dict[str, str]]
    worker_starts: dict[str, int]
    seconds_to_notice: float = 0

    @property
    def results(self) -> dict[str, Any]:
        return dict(json.loads((self.output / "results.json").read_text()))


def processes(job: EmulatedMpiJob) -> dict[str, list[tuple[int, list[str]]]]:
    """Return the user and the command line of every process, by pod."""
    return {
        pod.name: [(process.uids().real, process.cmdline()) for process in pod.processes()]
        for pod in [*job.workers, *job.launchers]
    }


def answers(job: EmulatedMpiJob) -> dict[str, dict[str, str]]:
    """Return the answers of each pod's container to the questions."""
    pods = [*job.workers, *job.launchers]
    return {
        pod.name: {question: pod.execute("sh", "-c", f"{question} 2>&1; true") for question in QUESTIONS}
        for pod in pods
    }


def train(job: EmulatedMpiJob, output: Path, *, kill_at: str | None = None) -> Outcome:
    """Run a job to its end; kill its second worker when the launcher prints a text."""
    with job:
        job.wait(lambda: "epoch 1/" in job.log(), 240)
        seen, workers, noticed = processes(job), list(job.workers), 0.0
        answered = {} if kill_at else answers(job)
        if kill_at:
            job.wait(lambda: kill_at in job.log(), 60)
            started = time.monotonic()
            job.workers[1].kill()
            job.wait(lambda: "restart 1 of 10" in job.log(), 60)
            noticed = time.monotonic() - started
        succeeded = job.run_to_the_end(400)
        assert job.workers == [], "cleanPodPolicy is Running: no worker outlives the launcher"
        return Outcome(
            succeeded=succeeded,
            logs=[launcher.log() for launcher in job.launchers],
            output=output,
            processes=seen,
            answers=answered,
            worker_starts={worker.name: worker.starts for worker in workers},
            seconds_to_notice=noticed,
        )


@pytest.fixture(scope="module")
def undisturbed(job: Callable[..., EmulatedMpiJob], claim: Callable[[], Path], phase: Phase) -> Outcome:
    lustre = claim()
    with phase("the job digits, as rendered"):
        return train(job(recipe("digits"), lustre), lustre / "runs/digits")


@pytest.fixture(scope="module")
def disturbed(job: Callable[..., EmulatedMpiJob], claim: Callable[[], Path], phase: Phase) -> Outcome:
    lustre = claim()
    with phase("the job digits with a killed worker"):
        return train(job(recipe("digits"), lustre), lustre / "runs/digits", kill_at="epoch 3/")


def test_the_job_succeeds_at_its_first_attempt(undisturbed: Outcome) -> None:
    assert undisturbed.succeeded, undisturbed.logs
    assert len(undisturbed.logs) == 1
    assert undisturbed.worker_starts == {"digits-worker-0": 1, "digits-worker-1": 1}


def test_two_ranks_learn_the_digits(undisturbed: Outcome) -> None:
    results = undisturbed.results
    assert results["world_size"] == 2
    assert results["epochs"] == 12
    assert results["accuracy"] >= 0.95
    assert results["versions"]["mpi"].startswith("Open MPI v4.1.")


def test_each_worker_runs_one_rank_and_the_launcher_none(undisturbed: Outcome) -> None:
    ranks = {pod: [words for _, words in seen if words[:3] == RANK] for pod, seen in undisturbed.processes.items()}
    assert {pod: len(found) for pod, found in ranks.items()} == {
        "digits-launcher-1": 0,
        "digits-worker-0": 1,
        "digits-worker-1": 1,
    }
    assert "ranks: 2, of them 1 on the machine of rank 0" in undisturbed.logs[0]


def test_no_process_runs_as_root(undisturbed: Outcome) -> None:
    seen = [process for pod in undisturbed.processes.values() for process in pod]
    assert len(seen) > 5
    assert [words for user, words in seen if user != 1000] == []


def test_every_pod_has_the_keys_and_no_capabilities(undisturbed: Outcome) -> None:
    assert len(undisturbed.answers) == 3
    for answers in undisturbed.answers.values():
        assert answers[KEYS].splitlines() == ["644 0"] * 3
        assert "Read-only file system" in answers["touch ~/.ssh/known_hosts"]
        assert answers[POWERS].split() == ["CapBnd:", "0000000000000000", "NoNewPrivs:", "1"]


def test_the_launcher_has_the_operator_s_settings(undisturbed: Outcome) -> None:
    answers = undisturbed.answers["digits-launcher-1"]
    assert answers["hostname"] == "digits-launcher"
    assert answers["cat /etc/mpi/hostfile"].splitlines() == [
        "digits-worker-0.digits.default.svc slots=1",
        "digits-worker-1.digits.default.svc slots=1",
    ]
    assert answers[CONFIG].splitlines() == ["discover_hosts.sh", "hostfile", "555 0", "444 0"]
    assert {
        "K_MPI_JOB_ROLE=launcher",
        "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames=true",
        "OMPI_MCA_orte_set_default_slots=1",
        "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10",
        "NVIDIA_VISIBLE_DEVICES=",
        "NVIDIA_DRIVER_CAPABILITIES=",
    } <= set(answers["env"].splitlines())


@pytest.mark.parametrize("worker", ["digits-worker-0", "digits-worker-1"])
def test_a_worker_has_the_settings_of_the_manifest_and_the_operator(worker: str, undisturbed: Outcome) -> None:
    answers = undisturbed.answers[worker]
    assert answers["hostname"] == worker
    assert "No such file or directory" in answers[CONFIG]
    assert answers["ls /fsx"].split() == ["data", "runs"]
    assert int(answers[SHM]) == 4 * 1024 * 1024, "4 GiB in KiB"
    assert "K_MPI_JOB_ROLE=worker" in answers["env"].splitlines()


def test_the_user_of_the_job_owns_its_files(undisturbed: Outcome) -> None:
    written = [undisturbed.output, *undisturbed.output.rglob("*")]
    assert len(written) > 5
    assert {path.stat().st_uid for path in written} == {1000}


def test_a_lost_worker_is_noticed_soon(disturbed: Outcome) -> None:
    assert disturbed.seconds_to_notice < 60


def test_the_same_launcher_resumes_from_the_checkpoint(disturbed: Outcome) -> None:
    assert disturbed.succeeded, disturbed.logs
    assert disturbed.worker_starts == {"digits-worker-0": 1, "digits-worker-1": 2}
    # One pod and one log, also with the restart.
    (log,) = disturbed.logs
    first, _, second = log.partition("restart 1 of 10")
    assert "epoch 12/12" not in first
    done = first.count("test accuracy")
    assert 3 <= done < 12
    assert "resuming after step" in second
    # The last checkpoint may be complete although its line did not reach the launcher, or have been in flight.
    epoch = int(second.partition(" 0 images into epoch ")[2].partition(":")[0]) - 1
    assert epoch in (done - 1, done, done + 1)
    assert f"epoch {epoch + 1}/12" in second
    assert f"epoch {epoch}/12" not in second


def test_the_disturbed_run_has_the_same_weights(
    undisturbed: Outcome, disturbed: Outcome, podman: Podman, image: str
) -> None:
    assert disturbed.results["accuracy"] == undisturbed.results["accuracy"]
    program = (
        "import sys, numpy; from pathlib import Path; from training.runtime import checkpoint\n"
        "one, other = (checkpoint.newest(Path(folder, 'checkpoints')) for folder in ('/one', '/other'))\n"
        "assert one.metadata['position'] == other.metadata['position']\n"
        "assert all(numpy.array_equal(a, b) for a, b in zip(one.arrays, other.arrays, strict=True))\n"
        "print(len(one.arrays), 'equal arrays')"
    )
    folders = ("--volume", f"{undisturbed.output}:/one:ro", "--volume", f"{disturbed.output}:/other:ro")
    output = podman("run", "--rm", "--network", "none", *folders, image, "python", "-c", program)
    assert output.endswith("equal arrays")


def test_every_checkpoint_of_the_disturbed_run_is_complete(disturbed: Outcome, podman: Podman, image: str) -> None:
    program = (
        "from pathlib import Path; from training.runtime import checkpoint\n"
        "paths = sorted(Path('/checkpoints').glob('step-*'))\n"
        "print([checkpoint.read(path).metadata['position']['epoch'] for path in paths])"
    )
    folder = ("--volume", f"{disturbed.output / 'checkpoints'}:/checkpoints:ro")
    output = podman("run", "--rm", "--network", "none", *folder, image, "python", "-c", program)
    assert output == "[10, 11, 12]"
