"""A run in a private network, on this kernel."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from training_workloads.run_local import private_network, runner
from training_workloads.run_local.local_plan import LocalRun
from training_workloads.run_local.supervisor import supervise

needs_kernel = pytest.mark.skipif(not private_network.is_allowed(), reason="this kernel gives no private network")

PROGRAM = """
import os, socket, sys
print(*(name for _, name in socket.if_nameindex()), os.geteuid() == int(sys.argv[2]))
server = socket.create_server(("127.0.0.1", 0))
print(socket.create_connection(server.getsockname()).getpeername()[0])
socket.create_connection(("127.0.0.1", int(sys.argv[1])))
"""

# Its child waits until it is ended.
DRIVER = """
import os, sys
from training_workloads.run_local.supervisor import supervise
waits = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
supervise([sys.executable, "-c", waits], dict(os.environ), name="torchrun", private=True)
"""


@needs_kernel
def test_it_has_loopback_alone_and_no_server_of_this_machine(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = [str(server.getsockname()[1]), str(os.geteuid())]
        command = [sys.executable, "-c", PROGRAM, *arguments]
        assert supervise(command, dict(os.environ), name="torchrun", private=True).code == 1
    output = capfd.readouterr()
    assert output.out == "lo True\n127.0.0.1\n"
    assert "ConnectionRefusedError" in output.err


@needs_kernel
def test_its_launcher_ends_with_the_program_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        launcher = psutil.Process(int(driver.stdout.readline()))
        driver.kill()
        assert psutil.wait_procs([launcher], timeout=20)[0] == [launcher]


@pytest.mark.parametrize("is_open", [False, True])
def test_the_option_gives_the_ranks_this_machines_network(
    is_open: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bool] = []

    def run_planned(run: LocalRun, scratch: Path, **_: object) -> int:
        given.append(run.private)
        return 0

    monkeypatch.setattr(runner, "run_planned", run_planned)
    launcher = {"template": {"spec": {"containers": [{"name": "a", "command": ["horovodrun", "-np", "2", "train"]}]}}}
    job = {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "job"},
        "spec": {"mpiReplicaSpecs": {"Launcher": launcher}},
    }
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    runner.run_locally(tmp_path / "job.yaml", volumes=tmp_path, open_network=is_open)
    assert given == [not is_open]


@pytest.mark.parametrize(
    ("allowed", "line"),
    [
        (True, "run-local: the ranks reach this machine alone; with '--open-network' they have its network"),
        (False, "run-local: this system gives a run no private network: others reach servers of its ranks"),
    ],
)
def test_a_run_says_what_its_ranks_reach(
    allowed: bool,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(private_network, "is_allowed", lambda: allowed)
    monkeypatch.setattr(private_network, "enter", lambda: None)
    run = LocalRun(
        name="job", launcher="sh", command=("sh", "-c", ":"), environment={}, ranks=1, program=(), private=True
    )
    (tmp_path / "bin").mkdir()
    assert runner.run_planned(run, tmp_path, volumes=tmp_path, environment=tmp_path) == 0
    assert capfd.readouterr().err.startswith(line)
