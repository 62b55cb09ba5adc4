"""The image with PyTorch, built from packages and tested without a GPU: `make test-long SUITE=torch-image`."""

import json
from collections.abc import Callable

import pytest

from tests.containers import training_image
from tests.containers.conftest import FOLDER, ROOT, Phase
from tests.containers.podman import Podman, PodmanError
from training_workloads.mpijob.programs import LOCAL_TORCH_IMAGE


@pytest.fixture(scope="module")
def image(podman: Podman, phase: Phase) -> str:
    """Build the image with its name in the recipes."""
    with phase("the base image: a minimal Debian 12"):
        training_image.make_base(podman)
    with phase(f"the image with PyTorch, 3 GB of wheels (its log is {FOLDER.relative_to(ROOT)}/build.log)"):
        training_image.build(podman, ROOT, LOCAL_TORCH_IMAGE, dockerfile="training/torch.Dockerfile")
    return LOCAL_TORCH_IMAGE


@pytest.fixture(scope="module")
def run(podman: Podman, image: str) -> Callable[..., str]:
    """Return a function that runs a command in a new container, which has no GPU and no driver."""

    def command(*words: str, user: str = "1000:1000") -> str:
        return podman("run", "--rm", "--network", "none", "--user", user, image, *words, timeout=600)

    return command


def test_the_check_of_the_build_finds_what_is_missing(run: Callable[..., str]) -> None:
    check = "python -m training.torch_imagenet.torch_image_check"
    assert run("sh", "-c", check) == ""
    for damage, message in (
        ("mkdir -p /opt/amazon/efa", "NCCL's EFA plugin cannot be loaded"),
        ("rm /opt/venv/bin/torchrun", "torchrun is not on the PATH"),
    ):
        with pytest.raises(PodmanError, match=message):
            run("sh", "-c", f"{damage} && {check}", user="0")


def test_two_ranks_train_on_the_cpu(run: Callable[..., str]) -> None:
    program = "-m training.torch_imagenet --synthetic --image-size 32 --warmup-epochs 0 --batch-size 2 --classes 10"
    # Random images have no epoch that ends soon: the first checkpoint ends the run, however slow the machine is.
    ranks = f"torchrun --nproc-per-node 2 {program} --epochs 1 --checkpoint-every 2steps --output-dir /tmp/run"
    wait = "until ls /tmp/run/checkpoints/step-* 2>/dev/null; do kill -0 $pid || exit 1; sleep 1; done"
    log = run("sh", "-c", f"{ranks} & pid=$!; {wait}; kill $pid; wait $pid; true")
    assert "step-" in log


def test_there_are_no_other_files_of_the_repository(run: Callable[..., str]) -> None:
    assert run("ls", "-A", "/workspace").split() == ["training"]
    assert "ssh" not in run("ls", "/etc")


def test_the_size_of_each_layer_is_printed(podman: Podman, image: str, phase: Phase) -> None:
    layers = json.loads(podman("history", "--format", "json", image))
    large = [each for each in layers if each["size"] > 10**6]
    assert sum(each["size"] for each in large) > 10**9
    for each in large:
        with phase(f"{each['size'] / 1e6:8.0f} MB  {each['CreatedBy'][:100]}"):
            pass
