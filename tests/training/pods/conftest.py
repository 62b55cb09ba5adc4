"""Workers on this machine: addresses of the loopback with an sshd's name, and an ssh that runs commands here."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


class Sshd:
    """Send a name to every client, as an sshd does."""

    def __init__(self, address: str, port: int = 0, name: bytes = b"SSH-2.0-test\r\n") -> None:
        self._listener = socket.create_server((address, port))
        self._name = name
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(self._name)

    def close(self) -> None:
        # Wakes the thread that accepts; close() would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Unblock the signals that a program in this process has blocked: elsewhere the process ends with the program."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.fixture
def first() -> Iterator[Sshd]:
    """Return the sshd of the worker 127.0.0.1; others take its port at other addresses."""
    sshd = Sshd("127.0.0.1")
    yield sshd
    sshd.close()


# The last two words are the host and the command. Each host has a folder for its temporary files, and may have a
# program that answers in its place.
SSH = """\
#!/bin/sh
while [ $# -gt 2 ]; do shift; done
export TMPDIR="${0%/bin/ssh}/$1"
mkdir -p "$TMPDIR"
[ -x "$TMPDIR/answer" ] && exec "$TMPDIR/answer" "$2"
exec sh -c "$2"
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put an ssh on the PATH; return a function that sets what a host answers, as a shell script."""
    folder = tmp_path / "ssh"
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin/ssh"
    program.write_text(SSH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    def answer(host: str, script: str) -> None:
        (folder / host).mkdir(exist_ok=True)
        path = folder / host / "answer"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return answer
