"""The workers' sshd: a real one, with the image's user and configuration, in separate namespaces."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from training.pods import worker

CONFIG = Path(worker.__file__).with_name("sshd_config")
_SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")

# $1: folder of this test, $2: sshd, $3 and following: what ssh does. The user is the image's.
SCRIPT = """\
set -e
grep -v ':x:1000:' /etc/passwd > "$1/passwd"
echo 'mpiuser:x:1000:1000::/home/mpiuser:/bin/sh' >> "$1/passwd"
mount --bind "$1/passwd" /etc/passwd
mount -t tmpfs none /home
mkdir -p /home/mpiuser/.ssh
cd /home/mpiuser/.ssh
ssh-keygen -q -t ecdsa -b 521 -N '' -f id_rsa
cp id_rsa.pub authorized_keys
cp "$1/sshd_config" /home/mpiuser/.sshd_config
chown -R 1000:1000 /home/mpiuser
ip link set lo up
as_user="setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/mpiuser"
$as_user "$2" -De -f /home/mpiuser/.sshd_config > "$1/log" 2>&1 &
until grep -q 'listening on' "$1/log"; do sleep 0.1; done
shift 2
known='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR'
timeout 20 $as_user ssh -p 2222 $known -o BatchMode=yes -i /home/mpiuser/.ssh/id_rsa "$@" < /dev/null
"""

_PROGRAMS = ("ssh", "ssh-keygen", "setpriv", "unshare", "ip", "mount")


def ssh(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Start the sshd, and run ssh once."""
    shutil.copy(CONFIG, folder / "sshd_config")
    # With its namespace of processes the sshd ends too.
    namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
    command = [*namespaces, "sh", "-c", SCRIPT, "sh", str(folder), str(_SSHD), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if os.geteuid() != 0 or not _SSHD or not all(map(shutil.which, _PROGRAMS)):
        pytest.skip("needs root, sshd and ssh")
    return tmp_path


def test_the_launcher_runs_commands(folder: Path) -> None:
    ended = ssh(folder, "127.0.0.1", "echo $(id -un) runs")
    assert (ended.stdout, ended.stderr, ended.returncode) == ("mpiuser runs\n", "", 0)


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "ExitOnForwardFailure=yes", "-R", "12345:127.0.0.1:2222", "127.0.0.1", "true"],
        ["-W", "127.0.0.1:2222", "127.0.0.1"],
        ["root@127.0.0.1", "true"],
    ],
)
def test_no_port_is_forwarded_and_no_other_user_logs_in(words: list[str], folder: Path) -> None:
    ended = ssh(folder, *words)
    assert ended.returncode != 0
    assert "SSH-2.0" not in ended.stdout


def test_the_configuration_is_narrow() -> None:
    lines = CONFIG.read_text().splitlines()
    expected = {"AllowUsers mpiuser", "DisableForwarding yes", "PermitTunnel no", "PasswordAuthentication no"}
    assert expected <= set(lines)
