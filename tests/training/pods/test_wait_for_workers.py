import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from training.pods import wait_for_workers


class Sshd:
    """Send a name to every client, as an sshd does."""

    def __init__(self, address: str, port: int = 0) -> None:
        self._listener = socket.create_server((address, port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"SSH-2.0-test\r\n")

    def close(self) -> None:
        # Wakes the thread that accepts; close() would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def first() -> Iterator[Sshd]:
    sshd = Sshd("127.0.0.1")
    yield sshd
    sshd.close()


def start(hostfile: Path, port: int, *command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "training.pods.wait_for_workers", "--port", str(port), str(hostfile), "--", *command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_starts_the_program_when_the_last_worker_answers(first: Sshd, tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("127.0.0.1 slots=2\n127.0.0.2 slots=2\n")
    process = start(hostfile, first.port, "sh", "-c", "echo started; exit 7")
    assert process.stdout
    assert process.stdout.readline() == "waiting for 1 of 2 workers, such as 127.0.0.2\n"
    second = Sshd("127.0.0.2", first.port)
    assert process.stdout.readline() == "started\n"
    assert process.wait(timeout=60) == 7
    second.close()
    process.stdout.close()


def test_waits_for_an_unknown_name_until_sigterm(tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("worker-0.job.default.svc.invalid slots=1\n")
    process = start(hostfile, 2222, "true")
    assert process.stdout
    assert process.stdout.readline() == "waiting for 1 of 1 workers, such as worker-0.job.default.svc.invalid\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    process.stdout.close()


# Each of two ranks records its signal, waits for the other one's, and exits with the code of a stop request.
RANK = """
import os, signal, sys, time
from pathlib import Path
folder, rank = Path(sys.argv[1]), os.environ["OMPI_COMM_WORLD_RANK"]

def end(number, _):
    (folder / f"saved-{rank}").write_text(signal.Signals(number).name)
    while not all((folder / f"saved-{each}").exists() for each in "01"):
        time.sleep(0.02)
    sys.exit(75)

signal.signal(signal.SIGUSR1, end)
(folder / f"runs-{rank}").touch()
while True:
    time.sleep(0.02)
"""


@pytest.mark.parametrize("mpirun", [Path(sys.executable).parent / "mpirun", Path("/usr/bin/mpirun")])
def test_forwards_sigterm_to_the_ranks_of_a_real_mpirun_as_sigusr1(
    mpirun: Path, first: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not mpirun.exists():
        pytest.skip(f"{mpirun} is not installed")
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    (tmp_path / "hostfile").write_text("127.0.0.1\n")
    (tmp_path / "rank.py").write_text(RANK)
    placement = [
        "--map-by",
        "slot:OVERSUBSCRIBE",
        "--bind-to",
        "none",
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        "^openib",
    ]
    ranks = [sys.executable, str(tmp_path / "rank.py"), str(tmp_path)]
    with start(tmp_path / "hostfile", first.port, str(mpirun), "-np", "2", *placement, *ranks) as process:
        deadline = time.monotonic() + 60
        while not all((tmp_path / f"runs-{rank}").exists() for rank in (0, 1)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 75
    assert [(tmp_path / f"saved-{rank}").read_text() for rank in (0, 1)] == ["SIGUSR1", "SIGUSR1"]
    assert f"stop request: sends SIGUSR1 to {mpirun} and waits for its ranks\n" in output


def test_forwards_sigterm_to_another_program(first: Sshd, tmp_path: Path) -> None:
    (tmp_path / "hostfile").write_text("127.0.0.1\n")
    script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with start(tmp_path / "hostfile", first.port, "sh", "-c", script) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 5


def blocked_signals(task: Path) -> set[int]:
    (mask,) = (line.split()[1] for line in (task / "status").read_text().splitlines() if line.startswith("SigBlk:"))
    return {number for number in (signal.SIGTERM, signal.SIGINT) if int(mask, 16) >> (number - 1) & 1}


def test_only_the_main_thread_takes_requests_to_end(tmp_path: Path) -> None:
    """Reject a race: a thread that is about to exit took SIGTERM, and the launcher ended without its program."""
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("127.0.0.1\n127.0.0.2\n")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with start(hostfile, port, "true") as process:
        assert process.stdout
        assert process.stdout.readline() == "waiting for 2 of 2 workers, such as 127.0.0.1\n"
        tasks = {int(task.name): blocked_signals(task) for task in Path(f"/proc/{process.pid}/task").iterdir()}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert tasks.pop(process.pid) == set()
    assert tasks
    assert all(blocked == {signal.SIGTERM, signal.SIGINT} for blocked in tasks.values())


def test_returns_at_once_when_all_workers_answer(first: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"waits {seconds} s"))
    wait_for_workers.wait(["127.0.0.1"], first.port)


@pytest.mark.parametrize(
    ("content", "command", "message"),
    [
        (None, ["true"], "cannot be read: No such file or directory; give the operator's hostfile"),
        ("\n# comment\n", ["true"], "names no worker; give the operator's hostfile"),
        ("a slots=1\n", [], "the command is ''; give a program of the image after '--', such as mpirun"),
        ("a slots=1\n", ["mpirnu", "-np"], "the command is 'mpirnu -np'; give a program of the image after"),
    ],
)
def test_reports_an_input_error_without_a_traceback(
    content: str | None, command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostfile = tmp_path / "hostfile"
    if content is not None:
        hostfile.write_text(content)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        assert wait_for_workers.main([str(hostfile), "--", *command]) == 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert message in capsys.readouterr().err
