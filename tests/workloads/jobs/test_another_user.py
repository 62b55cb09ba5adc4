"""A real sshd as the user of a team, whom no image knows, with the file that its pods bring."""

import os
import shutil
import subprocess
from pathlib import Path

import cdk8s
import pytest

from training_workloads import HorovodJob, HorovodJobSpec

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))

# The image's home, the job's keys as Kubernetes mounts them for the pod's group, and the pod's /etc/passwd.
POD = r"""
set -e
mount -t tmpfs none /home
mkdir -p /home/mpiuser/.ssh
chown 1000:1000 /home/mpiuser
chmod 755 /home/mpiuser
cp training/pods/sshd_config /home/mpiuser/.sshd_config
ssh-keygen -q -t rsa -N '' -f /home/mpiuser/.ssh/id_rsa
cp /home/mpiuser/.ssh/id_rsa.pub /home/mpiuser/.ssh/authorized_keys
chown -R 0:1001 /home/mpiuser/.ssh
chmod 644 /home/mpiuser/.ssh/*
[ -z "$PASSWD" ] || mount --bind "$PASSWD" /etc/passwd
as="setpriv --reuid=1001 --regid=1001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
$as "$SSHD" -De -f /home/mpiuser/.sshd_config -p 20222 &
trap "kill $!" EXIT
options="-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes -o LogLevel=ERROR"
for attempt in 1 2 3 4 5; do
    sleep 0.5
    if $as ssh -p 20222 $options 127.0.0.1 'echo $(id -u):$(id -g) $USER $HOME'; then exit 0; fi
done
exit 1
"""


@pytest.fixture
def passwd(tmp_path: Path) -> Path:
    chart = cdk8s.Testing.chart()
    spec = HorovodJobSpec(
        name="job", image="image:1", instance_type="p3.2xlarge", command=("true",), workers=1, user_id=1001
    )
    HorovodJob(chart, "Job", spec=spec)
    job = cdk8s.Testing.synth(chart)[0]
    metadata = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["metadata"]
    path = tmp_path / "passwd"
    path.write_text(metadata["annotations"]["training-cluster/passwd"])
    return path


def answer(passwd: Path | str) -> subprocess.CompletedProcess[str]:
    assert SSHD
    variables = os.environ | {"SSHD": SSHD, "PASSWD": str(passwd)}
    return subprocess.run(
        ["unshare", "-mn", "bash", "-c", f"ip link set lo up\n{POD}"],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(SSHD is None or os.geteuid() != 0, reason="needs sshd, and root for a mount namespace")
def test_ssh_starts_a_rank_as_a_user_whom_the_image_does_not_know(passwd: Path) -> None:
    done = answer(passwd)
    assert done.stdout == "1001:1001 mpiuser /home/mpiuser\n", done.stderr
    without = answer("")
    assert without.returncode == 1
    assert "No user exists for uid 1001" in without.stderr
