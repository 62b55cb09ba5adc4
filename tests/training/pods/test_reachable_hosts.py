import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.mpirun import ROOT
from training.pods.reachable_hosts import main


class Sshd(socketserver.BaseRequestHandler):
    banner = b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"

    def handle(self) -> None:
        self.request.sendall(self.banner)


@pytest.fixture
def sshd() -> Iterator[socketserver.ThreadingTCPServer]:
    """Listen on 127.0.0.1 only: nothing answers on the other loopback addresses."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sshd) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "discover_hosts.sh"
    path.write_text(f"#!/bin/sh\ncat {tmp_path}/hosts\n")
    path.chmod(0o755)
    return path


def named(script: Path, hosts: list[str], port: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    (script.parent / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    assert main([str(script), "--port", str(port), "--answered", str(script.parent / "answered")]) == 0
    return capsys.readouterr().out.splitlines()


def test_prints_only_workers_whose_sshd_answers(
    sshd: socketserver.ThreadingTCPServer, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = sshd.server_address[1]
    assert named(script, ["127.0.0.2", "localhost", "127.0.0.1", "nowhere.invalid"], port, capsys) == [
        "localhost",
        "127.0.0.1",
    ]
    assert named(script, [], port, capsys) == []


def test_skips_an_open_port_without_sshd(
    sshd: socketserver.ThreadingTCPServer,
    script: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Sshd, "banner", b"HTTP/1.1 503\r\n")
    assert named(script, ["127.0.0.1"], sshd.server_address[1], capsys) == []


def test_keeps_a_worker_that_has_answered_until_the_operator_drops_it(
    sshd: socketserver.ThreadingTCPServer,
    script: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = sshd.server_address[1]
    assert named(script, ["127.0.0.1"], port, capsys) == ["127.0.0.1"]
    monkeypatch.setattr(Sshd, "banner", b"busy")
    assert named(script, ["127.0.0.1", "localhost"], port, capsys) == ["127.0.0.1"]
    assert named(script, ["localhost"], port, capsys) == []
    assert named(script, ["127.0.0.1"], port, capsys) == []


def test_returns_the_exit_code_of_the_operator_s_script(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("#!/bin/sh\nexit 3\n")
    assert main([str(script), "--answered", str(script.parent / "answered")]) == 3


def test_reports_a_missing_script_without_a_traceback() -> None:
    command = [sys.executable, "-m", "training.pods.reachable_hosts", "/nowhere/discover_hosts.sh"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: /nowhere/discover_hosts.sh cannot be run: No such file or directory; give the operator's script\n"
    )
