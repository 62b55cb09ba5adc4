"""What is said where there can be no containers."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.containers import podman
from tests.containers.podman import why_not


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine that has everything."""
    for name in (*podman.PROGRAMS, *podman.NETWORK_HELPERS):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(podman, "SYSTEM_PATH", str(tmp_path))
    monkeypatch.setattr(podman, "HELPER_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0))
    return tmp_path


def test_a_machine_that_has_everything() -> None:
    assert why_not() is None


def test_what_is_missing_is_named(machine: Path) -> None:
    (machine / "podman").unlink()
    (machine / "netavark").unlink()
    assert why_not() == "podman, netavark not found (as root on Debian 12, setup/containers.sh installs them)"


def test_another_user_than_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert why_not() == "not root, which debootstrap and podman's networks need (try `sudo make test-containers`)"


def test_root_in_a_container_without_privileges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    assert why_not() == "root may not make namespaces here, as in a container without privileges"
