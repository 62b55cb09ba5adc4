import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from training import wait_for_workers


class Sshd:
    """Says its name to whoever connects, as an sshd does."""

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
        # Wakes the thread that accepts, which a mere close would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def first() -> Iterator[Sshd]:
    sshd = Sshd("127.0.0.1")
    yield sshd
    sshd.close()


def start(hostfile: Path, port: int, *command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "training.wait_for_workers", "--port", str(port), str(hostfile), "--", *command]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_the_program_starts_when_the_last_worker_answers(first: Sshd, tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("127.0.0.1 slots=2\n127.0.0.2 slots=2\n")
    process = start(hostfile, first.port, "sh", "-c", "echo started as $$; exit 7")
    assert process.stdout
    assert process.stdout.readline() == "waiting for 1 of 2 workers, such as 127.0.0.2\n"
    second = Sshd("127.0.0.2", first.port)
    # In place of the one that waited, so that signals reach it, and with its own exit code.
    assert process.stdout.readline() == f"started as {process.pid}\n"
    assert process.wait(timeout=10) == 7
    second.close()
    process.stdout.close()


def test_a_name_that_is_not_known_yet_is_waited_for_and_sigterm_ends_it(tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("worker-0.job.default.svc.invalid slots=1\n")
    process = start(hostfile, 2222, "true")
    assert process.stdout
    assert process.stdout.readline() == "waiting for 1 of 1 workers, such as worker-0.job.default.svc.invalid\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 143
    process.stdout.close()


def test_it_does_not_wait_for_ever_for_those_that_are_there(first: Sshd, tmp_path: Path) -> None:
    started = time.monotonic()
    wait_for_workers.wait(["127.0.0.1"], first.port)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("content", "command", "message"),
    [
        (None, ["true"], "cannot be read: No such file or directory; give the operator's hostfile"),
        ("\n# comment\n", ["true"], "names no worker; give the operator's hostfile"),
        ("a slots=1\n", [], "the command is ''; give a program of the image after '--', such as mpirun"),
        ("a slots=1\n", ["mpirnu", "-np"], "the command is 'mpirnu -np'; give a program of the image after"),
    ],
)
def test_a_mistake_is_told_without_a_traceback(
    content: str | None, command: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostfile = tmp_path / "hostfile"
    if content is not None:
        hostfile.write_text(content)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert wait_for_workers.main([str(hostfile), "--", *command]) == 2
    finally:
        signal.signal(signal.SIGTERM, before)
    assert message in capsys.readouterr().err
