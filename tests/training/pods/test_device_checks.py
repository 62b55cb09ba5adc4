"""A node is imitated by files below a folder, and by an nvidia-smi on the PATH."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from training.pods import device_checks
from training.pods.device_checks import Note
from training.pods.requested import Requested

ROOT = Path(__file__).parents[3]
GPU = "GPU {}: NVIDIA H100 80GB HBM3 (UUID: GPU-{})\n"


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that puts an nvidia-smi on the PATH, with the answers to -L and to the query."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(listed: str, health: str = "", code: int = 0) -> None:
        (tmp_path / "listed").write_text(listed)
        (tmp_path / "health").write_text(health)
        program = tmp_path / "nvidia-smi"
        answers = f'case $1 in -L) cat "{tmp_path}/listed"; exit {code};; *) cat "{tmp_path}/health";; esac'
        program.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{answers}\n")
        program.chmod(0o755)

    return put


def gpus(count: int, root: Path) -> list[str | Note]:
    return list(device_checks.gpus(Requested(gpus=count), root))


def test_a_node_with_all_gpus_passes(nvidia_smi: Callable[..., None], tmp_path: Path) -> None:
    nvidia_smi("".join(GPU.format(n, n) for n in range(8)), "".join(f"{n}, 0, No, No\n" for n in range(8)))
    assert gpus(8, tmp_path) == []


def test_a_lost_gpu_is_reported_with_the_drivers_words(nvidia_smi: Callable[..., None], tmp_path: Path) -> None:
    lost = "Unable to determine the device handle for GPU0000:53:00.0: GPU is lost."
    nvidia_smi("".join(GPU.format(n, n) for n in range(7)) + lost, code=15)
    assert gpus(8, tmp_path) == [f"7 of 8 GPUs: nvidia-smi prints {lost!r}"]


def test_a_driver_that_does_not_work_is_reported(nvidia_smi: Callable[..., None], tmp_path: Path) -> None:
    nvidia_smi("Failed to initialize NVML: Driver/library version mismatch\n", code=18)
    assert gpus(1, tmp_path) == [
        "0 of 1 GPUs: nvidia-smi prints 'Failed to initialize NVML: Driver/library version mismatch'"
    ]


def test_a_driver_that_hangs_is_reported(
    nvidia_smi: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_checks, "_DRIVER_SECONDS", 0.2)
    nvidia_smi("")
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    assert gpus(8, tmp_path) == ["0 of 8 GPUs: nvidia-smi prints 'no answer within 0.2 s'"]


def test_parts_of_a_divided_gpu_count(nvidia_smi: Callable[..., None], tmp_path: Path) -> None:
    parts = "".join(f"  MIG 3g.40gb     Device  {number}: (UUID: MIG-{number})\n" for number in range(2))
    nvidia_smi(GPU.format(0, 0) + parts)
    assert gpus(2, tmp_path) == []


@pytest.mark.parametrize(
    ("health", "problem"),
    [
        ("3, 2, No, No\n", "GPU 3 has uncorrectable memory errors since its last reset (2): reset or replace it"),
        ("0, 0, Yes, No\n", "GPU 0 has a row of its memory to be remapped by a reset: reset or replace it"),
        ("0, 0, No, Yes\n", "GPU 0 has a row of its memory that cannot be remapped: reset or replace it"),
    ],
)
def test_a_gpu_whose_memory_has_failed_is_named(
    health: str, problem: str, nvidia_smi: Callable[..., None], tmp_path: Path
) -> None:
    nvidia_smi(GPU.format(0, 0), health)
    assert gpus(1, tmp_path) == [problem]


def test_gpus_without_such_counts_pass(nvidia_smi: Callable[..., None], tmp_path: Path) -> None:
    nvidia_smi(GPU.format(0, 0), "0, [N/A], [N/A], [N/A]\n")
    assert gpus(1, tmp_path) == []


def test_an_image_without_cuda_computes_on_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    (found,) = gpus(8, tmp_path)
    assert isinstance(found, Note)
    assert found.text == "the image has no CUDA, so the ranks compute on the CPU: the GPUs are not checked"


def test_an_image_with_cuda_without_any_gpu_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "usr/local/cuda-12.2/lib64").mkdir(parents=True)
    (tmp_path / "usr/local/cuda-12.2/lib64/libcudart.so.12").touch()
    assert gpus(8, tmp_path) == ["0 of 8 GPUs, and no nvidia-smi to say why"]


def test_devices_count_where_the_runtime_has_no_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "dev").mkdir()
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    assert gpus(2, tmp_path) == []
    assert gpus(8, tmp_path) == ["2 of 8 GPUs, and no nvidia-smi to say why"]


# ----------------------------------------------------------------------------------------------------------------- EFA


@pytest.fixture
def efa(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that adds an EFA device to the node."""

    def add(number: int, vendor: str = "0x1d0f", state: str = "4: ACTIVE") -> Path:
        verbs = tmp_path / f"sys/class/infiniband_verbs/uverbs{number}"
        port = tmp_path / f"sys/class/infiniband/rdmap{number}/ports/1"
        for folder in (verbs / "device", port, tmp_path / "dev/infiniband"):
            folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"dev/infiniband/uverbs{number}").touch()
        (verbs / "ibdev").write_text(f"rdmap{number}\n")
        (verbs / "device/vendor").write_text(f"{vendor}\n")
        (port / "state").write_text(f"{state}\n")
        return tmp_path

    return add


def efa_problems(count: int, root: Path) -> list[str]:
    return list(device_checks.efa_devices(Requested(efa=count), root))


def test_a_node_with_all_efa_devices_passes(efa: Callable[..., Path]) -> None:
    *_, root = (efa(number) for number in range(4))
    assert efa_problems(4, root) == []


def test_missing_efa_devices_are_counted_without_those_of_another_vendor(efa: Callable[..., Path]) -> None:
    *_, root = efa(0), efa(1), efa(2, vendor="0x15b3")
    assert efa_problems(4, root) == ["2 of 4 EFA devices in /dev/infiniband (1 of another vendor)"]


def test_no_folder_means_no_device(tmp_path: Path) -> None:
    assert efa_problems(32, tmp_path) == ["0 of 32 EFA devices in /dev/infiniband"]


def test_a_port_that_is_down_is_named(efa: Callable[..., Path]) -> None:
    *_, root = efa(0), efa(1, state="1: DOWN")
    assert efa_problems(2, root) == ["the port of 1 EFA devices is not active, such as uverbs1: 1: DOWN"]


def plugin(folder: Path) -> str:
    """Return the output of the check in a process whose loader has this folder: it reads the variable at its start."""
    code = (
        "from pathlib import Path; from training.pods import device_checks\n"
        "from training.pods.requested import Requested\n"
        "print(*device_checks.efa_plugin(Requested(efa=1), Path('/')), sep='\\n')"
    )
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["libnccl-net.so", "libnccl-net-ofi.so"])
def test_a_plugin_that_the_loader_finds_passes(name: str, tmp_path: Path) -> None:
    # Any library does: ctypes knows the path of one that Python itself has loaded.
    library = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libm.so" in line)
    shutil.copy(library, tmp_path / name)
    assert plugin(tmp_path) == ""


def test_a_missing_plugin_is_reported_with_the_loaders_words(tmp_path: Path) -> None:
    found = plugin(tmp_path)
    assert found.startswith("NCCL's EFA plugin cannot be loaded: libnccl-net.so: cannot open shared object file")
    assert found.endswith("build the image with EFA_INSTALLER_VERSION")


def test_a_plugin_that_cannot_be_loaded_has_its_reason(tmp_path: Path) -> None:
    (tmp_path / "libnccl-net.so").write_text("no library")
    assert "libnccl-net.so: file too short" in plugin(tmp_path) or "invalid ELF header" in plugin(tmp_path)


def locked(monkeypatch: pytest.MonkeyPatch, limit: int, root: Path) -> list[str]:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    return list(device_checks.locked_memory(Requested(efa=1), root))


def test_locked_memory_must_not_be_limited_to_the_systems_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locked(monkeypatch, 8 * 2**20, tmp_path) == [
        "locked memory is limited to 8192 KiB (ulimit -l); EFA needs no limit: set it for containerd"
    ]
    assert locked(monkeypatch, resource.RLIM_INFINITY, tmp_path) == []


def test_the_capability_ignores_the_limit_of_locked_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    for powers, expected in (("0000000000004000", 0), ("00000000a80425fb", 1)):
        (tmp_path / "proc/self/status").write_text(f"Name:\tpython\nCapEff:\t{powers}\n")
        assert len(locked(monkeypatch, 8 * 2**20, tmp_path)) == expected


@pytest.mark.parametrize(
    ("free", "limit", "problems"),
    [
        ("2560", "max", []),
        ("2560", str(5120 * 2**20), []),
        ("2559", "max", ["5118 of 5120 MiB in free huge pages"]),
        ("4000", "0", ["the container may use 0 of 5120 MiB in huge pages"]),
    ],
)
def test_huge_pages_must_be_free_and_allowed(free: str, limit: str, problems: list[str], tmp_path: Path) -> None:
    for path, text in (
        ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", free),
        ("sys/fs/cgroup/hugetlb.2MB.max", limit),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{text}\n")
    assert list(device_checks.huge_pages(Requested(hugepages_mib=5120), tmp_path)) == problems


def test_what_is_not_requested_is_not_checked(tmp_path: Path) -> None:
    for check in (
        device_checks.gpus,
        device_checks.efa_devices,
        device_checks.efa_plugin,
        device_checks.locked_memory,
        device_checks.huge_pages,
    ):
        assert list(check(Requested(), tmp_path)) == []
