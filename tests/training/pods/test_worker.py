import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from training.pods import worker

# An sshd with one session, which has started rank 0 with a helper, and rank 1 of horovodrun. Each records a stop
# request, and whether sshd still runs; a rank then needs a moment to save a checkpoint.
SSHD = """
import os, signal, subprocess, sys, time
from pathlib import Path
folder, name = Path(sys.argv[1]), sys.argv[2]
variables = {"rank-0": {"OMPI_COMM_WORLD_RANK": "0"}, "rank-1": {"HOROVOD_RANK": "1"}}
starts = {"sshd": ["session"], "session": ["rank-0", "rank-1"], "rank-0": ["helper"]}

def end(*_):
    with (folder / "stop-requests").open("a") as stop_requests:
        print(name, "with sshd" if (folder / "sshd-runs").exists() else "without sshd", file=stop_requests)
    (folder / f"{name}-runs").unlink()
    if name.startswith("rank"):
        time.sleep(0.3)
        for child in children:
            child.kill()
            child.wait()
        (folder / f"{name}-saved").touch()
    os._exit(75)

signal.signal(signal.SIGTERM, end)
children = []
for child in starts.get(name, []):
    command = [sys.executable, __file__, folder, child]
    children.append(subprocess.Popen(command, env=os.environ | variables.get(child, {})))
(folder / f"{name}-runs").touch()
end_at = time.monotonic() + 60
while time.monotonic() < end_at:
    if name == "session" and all((folder / f"rank-{rank}-saved").exists() for rank in (0, 1)):
        break
    time.sleep(0.02)
"""

NEW_PIDS = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.fixture
def sshd(tmp_path: Path) -> list[str]:
    script = tmp_path / "sshd.py"
    script.write_text(SSHD)
    return [sys.executable, str(script), str(tmp_path)]


@contextmanager
def started(*command: str, below: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    words = [*below, sys.executable, "-m", "training.pods.worker", "--", *command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                for member in [*psutil.Process(process.pid).children(recursive=True), process]:
                    member.kill()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "still false after 60 s"
        time.sleep(0.02)


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 255", 255), ("kill -SEGV $$", 139)])
def test_ends_with_the_exit_code_of_sshd(script: str, code: int) -> None:
    with started("sh", "-c", script) as process:
        assert process.wait(timeout=60) == code


def test_ends_at_once_without_ranks(sshd: list[str], tmp_path: Path) -> None:
    with started(*sshd, "idle") as process:
        until((tmp_path / "idle-runs").exists)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (143, "")
    assert (tmp_path / "stop-requests").read_text() == "idle without sshd\n"


def test_ends_sshd_then_the_ranks_and_not_their_session(sshd: list[str], tmp_path: Path) -> None:
    with started(*sshd, "sshd") as process:
        until(lambda: all((tmp_path / f"{name}-runs").exists() for name in ("rank-0", "rank-1", "helper")))
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert re.fullmatch(
        r"stop request: sends SIGTERM to its ranks \(2\) and waits for them\nthe ranks have ended after \d+ seconds\n",
        output,
    )
    assert process.returncode == 143
    stop_requests = (tmp_path / "stop-requests").read_text().splitlines()
    assert stop_requests[0] == "sshd with sshd"
    assert sorted(stop_requests[1:]) == ["rank-0 without sshd", "rank-1 without sshd"]
    assert (tmp_path / "rank-0-saved").exists()
    assert (tmp_path / "rank-1-saved").exists()


def test_reaps_orphans() -> None:
    with started("sh", "-c", "(sleep 0.2 & echo $! & wait $!) ; exec sleep 60") as process:
        assert process.stdout
        orphan = int(process.stdout.readline())
        until(lambda: not psutil.pid_exists(orphan))


@pytest.mark.skipif(
    subprocess.run([*NEW_PIDS, "true"], capture_output=True, check=False).returncode != 0,
    reason="this machine allows no PID namespace",
)
@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGINT])
def test_as_the_first_process_of_a_container(sshd: list[str], tmp_path: Path, request_to_end: signal.Signals) -> None:
    """Handle each signal: the kernel drops the others there."""
    with started(*sshd, "sshd", below=NEW_PIDS) as process:
        until(lambda: all((tmp_path / f"{name}-runs").exists() for name in ("rank-0", "rank-1", "helper")))
        (first,) = psutil.Process(process.pid).children()
        first.send_signal(request_to_end)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert (tmp_path / "rank-0-saved").exists()
    assert (tmp_path / "rank-1-saved").exists()


def test_reports_an_input_error_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert worker.main(["--", "/usr/sbin/sshhd", "-De"]) == 2
    assert capsys.readouterr().err == (
        "error: the command is '/usr/sbin/sshhd -De'; give a program of the image after '--', such as /usr/sbin/sshd\n"
    )


def test_a_program_that_the_kernel_cannot_run_is_reported(tmp_path: Path) -> None:
    sshd = tmp_path / "sshd"
    sshd.write_text("echo ready\n")
    sshd.chmod(0o755)
    words = [sys.executable, "-m", "training.pods.worker", "--", str(sshd)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: '{sshd}' cannot be run: Exec format error; give a script")
