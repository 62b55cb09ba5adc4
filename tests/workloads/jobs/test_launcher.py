import os
import re
import subprocess
from pathlib import Path

import pytest

from training_workloads.mpijob.launch_command import horovodrun_command, launcher_environment, mpirun_command

PROGRAM = ["python", "train.py"]


def test_the_command_line() -> None:
    assert mpirun_command(16, ["A"], PROGRAM) == [
        *("mpirun", "-np", "16", "--hostfile", "/etc/mpi/hostfile", "--map-by", "slot", "--bind-to", "none"),
        *("--tag-output", "--mca", "pml", "ob1", "--mca", "btl", "^openib"),
        *("-x", "PATH", "-x", "LD_LIBRARY_PATH", "-x", "A"),
        *("python", "train.py"),
    ]


def test_ranks_that_are_bound_to_sockets() -> None:
    command = mpirun_command(16, [], PROGRAM, ranks_per_socket=4)
    assert command[5:9] == ["--map-by", "ppr:4:socket", "--bind-to", "socket"]


@pytest.mark.parametrize(
    ("program", "display", "bound"),
    [
        # Open MPI 5, which the set-up installs where the machine has none.
        (".venv-training/bin/mpirun", ["--display", "map-devel"], r"Binding: package\[(\d)\]"),
        # Open MPI 4.1, which the image has.
        ("/usr/bin/mpirun", ["--display-map"], r"Bound: socket (\d)"),
    ],
)
def test_each_half_of_the_ranks_gets_a_socket_of_its_own(
    program: str, display: list[str], bound: str, root: Path, tmp_path: Path
) -> None:
    """The real mpirun plans the job for a machine with two sockets of 24 cores, which it takes this one for."""
    if not (root / program).exists():
        pytest.skip(f"{program} is not installed")
    (tmp_path / "hostfile").write_text("localhost slots=8\n")
    words = mpirun_command(8, [], ["true"], ranks_per_socket=4)
    words[0], words[words.index("--hostfile") + 1] = str(root / program), str(tmp_path / "hostfile")
    machine = {"HWLOC_SYNTHETIC": "package:2 [numa] core:24 pu:2", "HWLOC_THISSYSTEM": "1"}
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    run = subprocess.run(
        [words[0], "--do-not-launch", *display, *words[1:]],
        env={**os.environ, **machine, **as_root},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert re.findall(bound, run.stdout) == ["0"] * 4 + ["1"] * 4, run.stdout + run.stderr


def test_open_mpi_5_is_told_what_the_operator_tells_open_mpi_4() -> None:
    assert launcher_environment(8, {"A": "1"}) == {
        "PRTE_MCA_prte_default_hostfile": "/etc/mpi/hostfile",
        "PRTE_MCA_prte_set_default_slots": "8",
        "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
        "A": "1",
    }


def test_an_elastic_job_starts_with_the_fewest_workers_and_takes_what_is_there() -> None:
    assert horovodrun_command(8, 2, 4, PROGRAM) == [
        *("horovodrun", "-np", "16", "--min-np", "16", "--max-np", "32"),
        *("--host-discovery-script", "python -m training.reachable_hosts /etc/mpi/discover_hosts.sh"),
        *("--slots-per-host", "8", "--network-interface", "eth0"),
        *("--elastic-timeout", "1800", "--gloo-timeout-seconds", "180", "--blacklist-cooldown-range", "10", "100"),
        *("python", "train.py"),
    ]
