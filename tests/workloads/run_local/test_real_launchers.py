"""Real launchers: Open MPI 5 and horovodrun of the training environment, Open MPI 4 if it is installed."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
import yaml

from tests.training.mpirun import mpirun_variables
from training_workloads import gpu_instance_type
from training_workloads.jobs.rank_environment import nccl_environment
from training_workloads.jobs.worker_resources import worker_resources
from training_workloads.mpijob.launcher_argv import HOSTFILE, horovodrun_command, launcher_environment, mpirun_command
from training_workloads.run_local import private_network
from training_workloads.run_local.runner import run_locally

SAY_PID = "echo pid $$; exec sleep 60"


def manifest(folder: Path, command: Sequence[str]) -> Path:
    containers = {"spec": {"containers": [{"name": "c", "image": "i", "command": list(command)}]}}
    replicas = {"Launcher": {"template": containers}, "Worker": {"template": containers}}
    path = folder / "job.k8s.yaml"
    path.write_text(yaml.safe_dump({"kind": "MPIJob", "spec": {"mpiReplicaSpecs": replicas}}))
    return path


def shell(text: str) -> list[str]:
    return ["sh", "-c", text]


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_more_ranks_than_cores_bound_for_another_machine(
    environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ranks = (os.cpu_count() or 1) + 3
    program = shell("echo out $OMPI_COMM_WORLD_RANK; echo err $OMPI_COMM_WORLD_RANK >&2")
    path = manifest(tmp_path, mpirun_command(16, [], program, ranks_per_socket=4))
    assert run_locally(path, volumes=tmp_path, environment=environment, ranks=ranks) == 0
    output, errors = capfd.readouterr()
    assert sorted(output.splitlines()[1:]) == [f"rank {rank:>2} | out {rank}" for rank in range(ranks)]
    # The first line says what the ranks reach.
    assert sorted(errors.splitlines()[1:]) == [f"rank {rank:>2} | err {rank}" for rank in range(ranks)]


def test_more_ranks_than_cores_where_there_is_no_ssh(
    environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "sed", "env"):
        (programs / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(programs))
    ranks = (os.cpu_count() or 1) + 1
    path = manifest(tmp_path, mpirun_command(2, [], shell("echo out")))
    assert run_locally(path, volumes=tmp_path, environment=environment, ranks=ranks) == 0
    assert capfd.readouterr().out.count("| out") == ranks


@pytest.mark.skipif(not private_network.is_allowed(), reason="this kernel gives no private network")
@pytest.mark.parametrize("is_open", [False, True])
def test_mpirun_and_its_ranks_have_loopback_alone(
    is_open: bool, environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = manifest(tmp_path, mpirun_command(2, [], shell("echo $(tail -n +3 /proc/net/dev | cut -d: -f1)")))
    assert run_locally(path, volumes=tmp_path, environment=environment, open_network=is_open) == 0
    here = " ".join(sorted(name for _, name in socket.if_nameindex()))
    lines = [" ".join(sorted(line.split()[3:])) for line in capfd.readouterr().out.splitlines()[1:]]
    assert lines == [here if is_open else "lo"] * 2


def test_no_rank_waits_for_the_standard_input(
    environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = manifest(tmp_path, mpirun_command(2, [], shell("echo $(wc -c) bytes")))
    assert run_locally(path, volumes=tmp_path, environment=environment) == 0
    assert capfd.readouterr().out.count("| 0 bytes") == 2


@pytest.mark.parametrize(("end", "code", "how"), [("kill -9 $$", 137, "was ended by SIGKILL"), ("exit 3", 3, "code 3")])
def test_one_rank_ends_all_and_its_code_is_ours(
    end: str, code: int, how: str, environment: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = shell(f"[ $OMPI_COMM_WORLD_RANK = 1 ] && {{ sleep 0.5; {end}; }}; {SAY_PID}")
    path = manifest(tmp_path, mpirun_command(3, [], program))
    assert run_locally(path, volumes=tmp_path, environment=environment) == code
    output, errors = capfd.readouterr()
    assert not any(alive(int(pid)) for pid in re.findall(r"pid (\d+)", output))
    last = errors.splitlines()[-1]
    assert last.startswith("run-local: ")
    assert how in last
    assert last.endswith("; no rank runs any more")


def test_a_killed_mpirun_leaves_no_rank(environment: Path, tmp_path: Path) -> None:
    path = manifest(tmp_path, mpirun_command(3, [], shell(SAY_PID)))
    command = [sys.executable, "-m", "training_workloads", "run-local", str(path), f"--environment={environment}"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        lines = [process.stdout.readline() for _ in range(4)]
        ranks = [psutil.Process(int(line.split()[-1])) for line in lines[1:]]
        parents = {parent.pid for rank in ranks for parent in rank.parents() if parent.name() in ("mpirun", "prterun")}
        (launcher,) = parents
        os.kill(launcher, signal.SIGKILL)
        assert process.wait(timeout=30) == 137
        assert process.stderr.readlines()[-1] == "run-local: mpirun was ended by SIGKILL; no rank runs any more\n"
        assert not any(map(alive, (rank.pid for rank in ranks)))


def test_an_elastic_job_runs_here(root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    environment = root / ".venv-training"
    if not (environment / "bin/horovodrun").exists():
        pytest.skip("run make setup-training")
    program = shell("echo out $HOROVOD_RANK of $HOROVOD_SIZE")
    path = manifest(tmp_path, horovodrun_command(8, 1, 4, program))
    assert run_locally(path, volumes=tmp_path, environment=environment, ranks=2) == 0
    shown = capfd.readouterr()
    assert sorted(shown.out.splitlines()[1:]) == ["rank  0 | out 0 of 2", "rank  1 | out 1 of 2"]
    # The launcher imports TensorFlow, whose errors about GPUs come without a rank.
    assert "Unable to register" not in shown.out + shown.err


# What ssh does with a command: it drops its options and the host, and joins the words for a shell that has none of the
# caller's variables but HOME, and another folder for temporary files, as on another machine. `-p` comes before the host
# from MPI and behind it from Horovod.
SSH = """\
#!/bin/sh
while :; do
    case "$1" in
        -o | -p) shift 2 ;;
        -*) shift ;;
        worker-0) shift ;;
        *) break ;;
    esac
done
exec env -i HOME="$HOME" TMPDIR="%s" PATH="%s" sh -c "$*"
"""


def executable(path: Path, script: str) -> Path:
    path.write_text(script)
    path.chmod(0o755)
    return path


@pytest.fixture
def ssh(environment: Path, tmp_path: Path) -> dict[str, str]:
    """The variables of a launcher on P4d, whose `ssh` starts another shell of this machine."""
    instance = gpu_instance_type("p4d.24xlarge")
    path = f"{environment}/bin:/usr/bin:/bin"
    (tmp_path / "worker").mkdir()
    program = executable(tmp_path / "ssh", SSH % (tmp_path / "worker", path))
    asked = {"PRTE_MCA_plm_ssh_agent": str(program), "OMPI_MCA_plm_rsh_agent": str(program)}
    launcher = {"PATH": f"{tmp_path}:{path}", "LD_LIBRARY_PATH": "", "HOME": str(tmp_path)}
    ranks = nccl_environment(worker_resources(instance, instance.gpus), workers=2)
    return launcher_environment(2, ranks) | launcher | asked | mpirun_variables(tmp_path / "mpi")


SHOW_NETWORK = shell('echo "<$NCCL_NET> <$FI_PROVIDER>"')


def printed_behind_ssh(ssh: dict[str, str], folder: Path, program: Sequence[str]) -> str:
    """Return the output of two ranks of a worker."""
    hostfile = folder / "hostfile"
    hostfile.write_text("worker-0 slots=2\n")
    command = mpirun_command(2, ["NCCL_NET", "FI_PROVIDER"], program)
    words = [str(hostfile) if word == HOSTFILE else word for word in command]
    done = subprocess.run(words, env=ssh, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_space_in_the_plugins_name_reaches_ranks_behind_ssh(ssh: dict[str, str], tmp_path: Path) -> None:
    assert printed_behind_ssh(ssh, tmp_path, SHOW_NETWORK).count("<AWS Libfabric> <efa>") == 2


def test_the_daemon_of_a_worker_starts_ranks_without_threads(ssh: dict[str, str], tmp_path: Path) -> None:
    # With the 16 threads of Open MPI 5 it misses the end of a rank that ends at once, and mpirun never ends.
    printed = printed_behind_ssh(ssh, tmp_path, shell("ls -d /proc/$PPID/task/*"))
    assert 2 <= len(printed.splitlines()) < 2 * 16


@pytest.mark.parametrize("environment", ["Open MPI 5"], indirect=True)
def test_it_reaches_the_ranks_of_horovodrun(environment: Path, ssh: dict[str, str], tmp_path: Path) -> None:
    if not (environment / "bin/horovodrun").exists():
        pytest.skip("run make setup-training")
    hosts = executable(tmp_path / "hosts", "#!/bin/sh\necho worker-0\n")
    changed = {"--host-discovery-script": str(hosts), "--network-interface": "lo"}
    command = horovodrun_command(2, 1, 1, SHOW_NETWORK)
    words = [changed.get(before, word) for before, word in pairwise(["", *command])]
    done = subprocess.run(words, env=ssh, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<AWS Libfabric> <efa>") == 2
