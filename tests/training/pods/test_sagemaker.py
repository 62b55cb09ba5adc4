import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.mpirun import ROOT, free_ports
from training.pods import host_ranks, sagemaker
from training.pods.sagemaker import Settings
from training.pods.sagemaker_folders import Hosts
from training.runtime.errors import UserError

HOSTS = Hosts(name="algo-2", names=("algo-1", "algo-2"), interface="eth0")


def settings(*words: str) -> Settings:
    return sagemaker.parse(["--processes-per-host", "8", "--", *words])


def test_a_program_is_started_by_its_host_with_its_rank_numbers() -> None:
    command = sagemaker.launch_command(settings("python"), HOSTS, ["python", "-m", "training.digits", "--epochs", "9"])
    assert command[:3] == [sys.executable, "-m", "training.pods.host_ranks"]
    assert host_ranks.parse(command[3:]) == host_ranks.Settings(
        host=1, hosts=("algo-1", "algo-2"), processes=8, command=("python", "-m", "training.digits", "--epochs", "9")
    )


@pytest.mark.parametrize(("name", "number", "is_host"), [("algo-1", 0, "true"), ("algo-2", 1, "false")])
def test_torchrun_gets_the_hosts_and_keeps_its_options(
    name: str, number: int, is_host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINING_JOB_NAME", "digits-1")
    hosts = Hosts(name=name, names=("algo-1", "algo-2"), interface="eth0")
    command = sagemaker.launch_command(
        settings("python"), hosts, ["torchrun", "--max-restarts=3", "-m", "training.torch_imagenet"]
    )
    assert command == [
        "torchrun",
        "--nnodes=2",
        f"--node-rank={number}",
        "--nproc-per-node=8",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=algo-1:23402",
        f"--rdzv-conf=is_host={is_host}",
        "--rdzv-id=digits-1",
        f"--local-addr={name}",
        "--max-restarts=3",
        "-m",
        "training.torch_imagenet",
    ]


def test_the_job_chooses_gloo_for_the_controller_and_may_choose_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Hosts(name="algo-1", names=("algo-1", "algo-2"), interface="eth0")
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "HOROVOD_GLOO_TIMEOUT_SECONDS"):
        monkeypatch.delenv(name, raising=False)
    assert sagemaker.rank_variables(hosts) == {
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": "23401",
        "HOROVOD_GLOO_IFACE": "eth0",
        "HOROVOD_GLOO_TIMEOUT_SECONDS": "180",
        "NCCL_SOCKET_IFNAME": "eth0",
        "GLOO_SOCKET_IFNAME": "eth0",
    }
    monkeypatch.setenv("NCCL_SOCKET_IFNAME", "^lo")
    monkeypatch.setenv("HOROVOD_GLOO_TIMEOUT_SECONDS", "60")
    assert sagemaker.rank_variables(hosts).keys().isdisjoint({"NCCL_SOCKET_IFNAME", "HOROVOD_GLOO_TIMEOUT_SECONDS"})


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--", "true"], "the following arguments are required: --processes-per-host"),
        (["--processes-per-host", "0", "--", "true"], "'--processes-per-host' is 0; give 1 or more"),
        (["--processes-per-host", "1"], "the command is ''; give a program of the image after '--', such as python"),
    ],
)
def test_a_wrong_command_line_is_rejected(words: list[str], error: str) -> None:
    with pytest.raises(UserError, match=error):
        sagemaker.parse(words)


def test_several_hosts_need_a_key_for_their_reports(ml: Path) -> None:
    resources = {"current_host": "algo-2", "hosts": ["algo-1", "algo-2"], "network_interface_name": "lo"}
    (ml / "input/config/resourceconfig.json").write_text(json.dumps(resources))
    ended = run(ml, "--processes-per-host", "1", "--", "true")
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "error: TRAINING_REPORT_KEY is missing, but 2 hosts sign their reports with it; set it"
    )


# ------------------------------------------------------------------------------------------------ a job of one host


@pytest.fixture
def ml(tmp_path: Path) -> Path:
    config = tmp_path / "ml/input/config"
    config.mkdir(parents=True)
    resources = {"current_host": "localhost", "hosts": ["localhost"], "network_interface_name": "lo"}
    (config / "resourceconfig.json").write_text(json.dumps(resources))
    return tmp_path / "ml"


def start(ml: Path, *words: str, taken: bool = False) -> subprocess.Popen[str]:
    """Start a job whose ports are free ones, or that of the reports taken; the product's are the same on every host."""
    port = free_ports(3)
    script = (
        f"import socket; other = socket.create_server(('', {port})) if {taken} else None\n"
        "import sys; from training.pods import host_reports, sagemaker\n"
        f"host_reports.PORT, sagemaker._RENDEZVOUS_PORT, sagemaker._STORE_PORT = {port}, {port + 1}, {port + 2}\n"
        "sys.exit(sagemaker.main(['--root', *sys.argv[1:]]))"
    )
    command = [sys.executable, "-c", script, str(ml), *words]
    path = os.pathsep.join([os.environ.get("BEFORE", ""), str(ROOT)])
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, **pipes)


def run(ml: Path, *words: str, taken: bool = False) -> subprocess.CompletedProcess[str]:
    """Run such a job to its end."""
    with start(ml, *words, taken=taken) as process:
        out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_a_port_that_another_program_has_is_the_reason(ml: Path) -> None:
    ended = run(ml, "--processes-per-host", "1", "--", "true", taken=True)
    reason = (
        "this host cannot run its ranks: another program has one of its ports 23400 to 23402; end it, such as a second "
        "run on this machine, and start again"
    )
    assert (ended.returncode, ended.stderr) == (1, f"error: {reason}\n")
    assert (ml / "output/failure").read_text() == reason


def test_one_host_runs_its_ranks_with_the_hyperparameters(ml: Path) -> None:
    (ml / "input/config/hyperparameters.json").write_text('{"epochs": "3"}')
    ended = run(ml, "--processes-per-host", "2", "--", "sh", "-c", 'echo "$HOROVOD_RANK of $HOROVOD_SIZE: $1 $2"', "sh")
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.splitlines()) == [
        "[1,0]<stdout>:0 of 2: --epochs 3",
        "[1,1]<stdout>:1 of 2: --epochs 3",
        "localhost: starts 2 of 2 ranks",
    ]
    assert not (ml / "output/failure").exists()


def test_ranks_that_tensorflow_connects_get_the_hosts(ml: Path) -> None:
    assert (
        "[1,0]<stdout>:localhost:2\n" in run(ml, "--processes-per-host", "2", "--", "printenv", "TRAINING_HOSTS").stdout
    )


def test_the_log_has_the_line_about_the_network(ml: Path) -> None:
    line = "host:7:27 [0] NCCL INFO Using network Socket"
    ended = run(ml, "--processes-per-host", "1", "--", "echo", line)
    assert f"[1,0]<stdout>:{line}" in ended.stdout
    assert "network: none, one node: NVLink, PCIe or shared memory carry the gradients" in ended.stdout


def test_an_image_without_horovod_is_a_message(ml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "horovod.py").write_text("raise ImportError('no such module')")
    monkeypatch.setenv("BEFORE", str(tmp_path))
    assert run(ml, "--processes-per-host", "1", "--", "true").returncode == 2
    reason = "localhost: the image has no Horovod (no such module); give its image, or a command with 'torchrun'"
    assert (ml / "output/failure").read_text() == reason


def test_a_failed_rank_gives_code_and_reason(ml: Path) -> None:
    ended = run(ml, "--processes-per-host", "1", "--", "sh", "-c", "echo \"error: '--epochs' is 0\" >&2; exit 2")
    assert ended.returncode == 2
    reason = "localhost: the ranks ended with exit code 2: '--epochs' is 0"
    assert (ml / "output/failure").read_text() == reason
    assert ended.stderr.splitlines()[-1] == f"error: {reason}"


def test_a_stop_before_the_ranks_handle_it_is_no_failure(ml: Path) -> None:
    with start(ml, "--processes-per-host", "2", "--", "sh", "-c", "echo begins; exec sleep 600") as process:
        assert process.stdout
        assert [process.stdout.readline().partition(":")[2] for _ in range(3)].count("begins\n") == 2
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (75, "")
    assert out.endswith("the ranks have ended on request, with exit code 75\n")
    assert not (ml / "output/failure").exists()


def test_results_are_handed_over_after_a_failure_too(ml: Path) -> None:
    program = f"mkdir -p {ml}/checkpoints/run; echo x > {ml}/checkpoints/run/curve.svg; exit 1"
    assert run(ml, "--processes-per-host", "1", "--", "sh", "-c", program).returncode == 1
    assert (ml / "output/data/run/curve.svg").read_text() == "x\n"


def test_a_users_mistake_in_the_files_is_a_message(ml: Path) -> None:
    (ml / "input/config/hyperparameters.json").write_text('{"epochs": 3}')
    ended = run(ml, "--processes-per-host", "1", "--", "true")
    assert ended.returncode == 2
    assert "has 'epochs' with 3; give a text, as SageMaker does" in (ml / "output/failure").read_text()
    assert "Traceback" not in ended.stderr


def test_what_the_ranks_leave_running_is_ended(ml: Path, tmp_path: Path) -> None:
    program = f"setsid sleep 600 >/dev/null 2>&1 & echo $! > {tmp_path}/pid"
    assert run(ml, "--processes-per-host", "1", "--", "sh", "-c", program).returncode == 0
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()
