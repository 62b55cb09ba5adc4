"""The image for GPUs, built from packages and tested without a GPU: `make test-long SUITE=image`."""

import json
import re
from collections.abc import Callable

import pytest

from tests.containers import training_image
from tests.containers.conftest import FOLDER, ROOT, Phase
from tests.containers.podman import Podman, PodmanError

CUDA_BASE = "localhost/cuda-base:latest"
IMAGE = "localhost/training-gpu:latest"
LIBRARY = "/opt/venv/lib/python3.11/site-packages/horovod/tensorflow/mpi_lib.cpython-311-x86_64-linux-gnu.so"

#: Prints the GPUs for which a library has code, as clang and nvcc put it there: `elf 70`, `ptx 90`. Each fat binary
#: has a head of magic number, version, length of the head, and length; each code in it one with kind, lengths and GPU.
GPUS_OF = """
import re, struct, sys
data = open(sys.argv[1], "rb").read()
for start in (each.start() for each in re.finditer(struct.pack("<I", 0xBA55ED50), data)):
    _, _, head, size = struct.unpack_from("<IHHQ", data, start)
    at, end = start + head, start + head + size
    while at < end:
        kind, _, length, body = struct.unpack_from("<HHIQ", data, at)
        (gpu,) = struct.unpack_from("<I", data, at + 28)
        print({1: "ptx", 2: "elf"}.get(kind, kind), gpu)
        at += length + body
"""


@pytest.fixture(scope="module")
def image(podman: Podman, phase: Phase) -> str:
    """Build the base with CUDA and the image on it."""
    with phase("the base image: a minimal Debian 12"):
        training_image.make_base(podman)
    with phase(f"the base with CUDA, 2.9 GB of wheels (its log is {FOLDER.relative_to(ROOT)}/build.log)"):
        training_image.build(podman, ROOT, CUDA_BASE, dockerfile="training/cuda/base.Dockerfile")
    with phase("the training image for GPUs"):
        training_image.build(podman, ROOT, IMAGE, base=CUDA_BASE)
    return IMAGE


@pytest.fixture(scope="module")
def run(podman: Podman, image: str) -> Callable[..., str]:
    """Return a function that runs a command in a new container, which has no GPU and no driver."""

    def command(*words: str, user: str = "1000:1000") -> str:
        return podman("run", "--rm", "--network", "none", "--user", user, image, *words, timeout=600)

    return command


def test_horovod_has_nccl(run: Callable[..., str]) -> None:
    check = run("horovodrun", "--check-build")
    for part in ("TensorFlow", "MPI", "Gloo", "NCCL"):
        assert f"[X] {part}" in check


def test_horovod_has_code_for_v100_a100_and_h100(run: Callable[..., str]) -> None:
    found = set(run("python", "-c", GPUS_OF, LIBRARY).splitlines())
    assert {"elf 70", "elf 80", "elf 90", "ptx 90"} <= found


def test_horovod_and_the_image_have_one_nccl_and_need_no_driver(run: Callable[..., str]) -> None:
    needed = run("ldd", LIBRARY)
    assert "libnccl.so.2 => /lib/x86_64-linux-gnu/libnccl.so.2" in needed
    assert "libcuda.so" not in needed
    # Python has loaded those of TensorFlow when it loads this one.
    missing = {line.split()[0] for line in needed.splitlines() if "not found" in line}
    assert missing == {"libtensorflow_cc.so.2", "libtensorflow_framework.so.2"}


def test_the_check_of_the_build_finds_what_is_missing(run: Callable[..., str]) -> None:
    assert run("python", "-m", "training.pods.image_check") == ""
    for damage, message in (
        ("mkdir -p /opt/amazon/efa", "NCCL's EFA plugin cannot be loaded"),
        ("rm /usr/local/cuda/lib64/libcudnn.so.8", r"TensorFlow cannot open libcudnn\.so\.8"),
        ("rm /usr/local/cuda/bin/ptxas", "XLA finds no ptxas"),
    ):
        with pytest.raises(PodmanError, match=message):
            run("sh", "-c", f"{damage} && python -m training.pods.image_check", user="0")


def test_two_ranks_train_on_the_cpu(run: Callable[..., str]) -> None:
    ranks = "mpirun -np 2 --oversubscribe --bind-to none --mca btl self,vader python -m training.digits"
    options = "--epochs 4 --warmup-epochs 1 --output-dir /tmp/run"
    log = run("sh", "-c", f"{ranks} {options} && echo results && cat /tmp/run/results.json")
    results = json.loads(log.rpartition("\nresults\n")[2])
    assert results["world_size"] == 2
    assert results["accuracy"] > 0.8


def test_the_size_of_each_layer_is_printed(podman: Podman, image: str, phase: Phase) -> None:
    layers = json.loads(podman("history", "--format", "json", image))
    large = [each for each in layers if each["size"] > 10**6]
    assert sum(each["size"] for each in large) > 10**9
    for each in large:
        with phase(f"{each['size'] / 1e6:8.0f} MB  {re.sub(r' +', ' ', each['CreatedBy'])[:100]}"):
            pass
