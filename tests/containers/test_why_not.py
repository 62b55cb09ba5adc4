"""The reasons why a machine cannot run containers."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.containers import podman
from tests.containers.podman import why_not


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Emulate a machine with all programs."""
    for name in (*podman.PROGRAMS, *podman.NETWORK_HELPERS):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(podman, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setattr(podman, "HELPER_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0))
    return tmp_path


def test_a_complete_machine_has_no_reason() -> None:
    assert why_not() is None


def test_reports_missing_programs(machine: Path) -> None:
    (machine / "podman").unlink()
    (machine / "netavark").unlink()
    assert why_not() == "podman, netavark not found (as root on Debian 12, setup/containers.sh installs them)"


def test_reports_a_user_other_than_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    fix = "try `sudo make test-long SUITE=containers`"
    assert why_not() == f"not root, which debootstrap and podman's networks need ({fix})"


def test_reports_root_without_privileges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    assert why_not() == "root cannot create namespaces here, as in a container without privileges"
