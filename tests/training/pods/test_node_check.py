import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from training.pods import node_check
from training.pods.requested import Requested

ROOT = Path(__file__).parents[3]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training.pods.node_check", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def result(*words: str) -> dict[str, Any]:
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_a_machine_without_requests_passes(tmp_path: Path) -> None:
    before = time.time()
    found = result("--mount", str(tmp_path), "--shm-mib", "1")
    assert (found["problems"], found["notes"]) == ([], [])
    assert before < found["time"] < time.time()


def test_names_each_check_before_it_starts() -> None:
    done = run()
    assert done.stdout.splitlines()[:-1] == [
        "checking: GPUs",
        "checking: EFA devices",
        "checking: EFA plugin",
        "checking: locked memory",
        "checking: huge pages",
        "checking: shared memory",
        "checking: mounts",
        "checking: free space",
    ]


def test_reports_every_problem_at_once() -> None:
    found = result("--efa", "4", "--shm-mib", str(10**9), "--mount", "/nowhere")
    assert found["problems"][0] == "0 of 4 EFA devices in /dev/infiniband"
    assert found["problems"][-1] == "/nowhere does not exist"
    assert any(problem.startswith("/dev/shm has ") for problem in found["problems"])


def test_rejects_a_wrong_request_without_a_traceback() -> None:
    done = run("--gpus", "eight")
    assert done.returncode == 2
    assert done.stderr == "error: '--gpus' is 'eight'; give a whole number, 0 or more\n"


def test_ends_by_itself_when_its_time_is_over(tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "training.pods.node_check", "--gpus", "1", "--seconds", "1"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode < 0
    assert done.stdout == "checking: GPUs\n"


def mounts(mount: Path) -> list[str]:
    return list(node_check.mounts(Requested(mount=(mount,)), Path("/")))


def test_a_writable_folder_below_the_root_of_a_file_system_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name == "runs")
    assert mounts(tmp_path) == []
    assert list((tmp_path / "runs").iterdir()) == []
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert mounts(tmp_path) == [f"nothing can be written in {tmp_path}: no folder in it is writable"]


def test_a_full_file_system_has_the_systems_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    assert mounts(tmp_path) == [f"nothing can be written in {tmp_path}: {tmp_path}: No space left on device"]


class Statvfs:
    """What the system says about a file system with 4 KiB blocks."""

    f_frsize = 4096

    def __init__(self, *, blocks: int = 0, available: int = 0, flag: int = 0) -> None:
        self.f_blocks, self.f_bavail, self.f_flag = blocks, available, flag


def test_a_file_system_that_is_mounted_read_only_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: Statvfs(flag=os.ST_RDONLY))
    assert mounts(tmp_path) == [f"{tmp_path} is mounted read-only"]


def test_little_free_space_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: Statvfs(available=100 if Path(path) == tmp_path else 10**6))
    found = list(node_check.free_space(Requested(mount=(tmp_path,)), Path("/")))
    assert found == [f"{tmp_path} has 0 MiB free; the ranks need 1 GiB or more"]


def test_a_smaller_shared_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: Statvfs(blocks=64 * 256))
    assert list(node_check.shared_memory(Requested(shm_mib=32768), Path("/"))) == ["/dev/shm has 64 of 32768 MiB"]
    assert list(node_check.shared_memory(Requested(shm_mib=65), Path("/"))) == []
