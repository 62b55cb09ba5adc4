import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from training_workloads.run_local.manifest import load_mpi_job

from training_workloads import InputError
from training_workloads.mpijob.launch_command import horovodrun_command
from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs
from training_workloads.run_local.runner import plan_local_run, run_locally

# Stands for mpirun: tells what it was started with.
FAKE_MPIRUN = """#!{python}
import os, sys
hostfile = sys.argv[sys.argv.index("--hostfile") + 1]
print("hosts:", open(hostfile).read().strip())
print("args:", *sys.argv[1:])
print("threads:", os.environ["TF_NUM_INTRAOP_THREADS"], flush=True)
{body}
"""

ONE_JOB = "only the launcher of an MPIJob can run here, so give a file with exactly one MPIJob"

# The sizes of a rank's pools of threads, which a job for GPU nodes derives from their CPUs.
THREADS = ("TF_NUM_INTRAOP_THREADS", "TRAINING_DATA_THREADS")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (path,), _ = render_jobs([recipe("digits-p3")], tmp_path / "dist")
    return path


@pytest.fixture
def job(manifest: Path) -> dict[str, Any]:
    return load_mpi_job(manifest)


def environment_with_mpirun(folder: Path, body: str) -> Path:
    program = folder / "venv/bin/mpirun"
    program.parent.mkdir(parents=True)
    program.write_text(FAKE_MPIRUN.format(python=sys.executable, body=body))
    program.chmod(0o755)
    return folder / "venv"


def test_only_hosts_volumes_and_threads_change(job: dict[str, Any]) -> None:
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    waiting, launcher["command"] = launcher["command"][:5], launcher["command"][5:]
    launcher["command"][5:9] = ["--map-by", "ppr:4:socket", "--bind-to", "socket"]
    # More threads than this machine has for a rank.
    launcher["env"] = [{**entry, **({"value": "960"} if entry["name"] in THREADS else {})} for entry in launcher["env"]]
    with_waiting = copy.deepcopy(job)
    first = with_waiting["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    first["command"] = waiting + first["command"]
    run = plan_local_run(with_waiting, Path("/here"), Path("/scratch"))
    changed = {old: new for old, new in zip(launcher["command"], run.command, strict=True) if old != new}
    assert changed == {
        "/etc/mpi/hostfile": "/scratch/hostfile",
        "ppr:4:socket": "slot",
        "socket": "none",
        "/fsx/runs/digits-p3": "/here/runs/digits-p3",
    }
    variables = {entry["name"]: entry["value"] for entry in launcher["env"]}
    assert {name: run.environment[name] for name in variables if variables[name] != run.environment[name]} == {
        **dict.fromkeys(THREADS, str(max(1, (os.cpu_count() or 1) // 2))),
        "PRTE_MCA_prte_default_hostfile": "/scratch/hostfile",
    }
    assert (run.ranks, run.program) == (2, "python")


def test_a_manifest_without_tags_gets_them(job: dict[str, Any]) -> None:
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"] = ["mpirun", "-np", "16", "python", "-m", "training.digits"]
    run = plan_local_run(job, Path("/here"), Path("/scratch"), ranks=4)
    assert " ".join(run.command) == ("mpirun --tag-output --bind-to none --map-by slot -np 4 python -m training.digits")


def test_an_elastic_job_finds_this_machine(job: dict[str, Any]) -> None:
    launcher = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"] = horovodrun_command(8, 1, 4, ["python", "-m", "training.digits"])
    run = plan_local_run(job, Path("/here"), Path("/scratch"), ranks=2)
    assert (run.launcher.name, run.program) == ("horovodrun", "python")
    assert " ".join(run.command).startswith(
        "horovodrun -np 2 --min-np 2 --max-np 2 --host-discovery-script /scratch/discover_hosts.sh --slots-per-host 2 "
        "--network-interface lo "
    )


def test_fewer_ranks_on_request(job: dict[str, Any]) -> None:
    run = plan_local_run(job, Path("/here"), Path("/scratch"), ranks=1)
    assert run.command[:3] == ["mpirun", "-np", "1"]
    assert {run.environment[name] for name in THREADS if name in run.environment} == {str(os.cpu_count())}


def test_a_path_in_an_options_value_is_local_and_a_similar_one_stays(job: dict[str, Any]) -> None:
    container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["command"] += ["--data=/fsx/data", "/fsx2/x", "/fsx"]
    assert plan_local_run(job, Path("/here"), Path("/scratch")).command[-3:] == [
        "--data=/here/data",
        "/fsx2/x",
        "/here",
    ]


def test_the_launchers_command_runs_and_its_exit_code_is_ours(
    manifest: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    venv = environment_with_mpirun(tmp_path, "sys.exit(7)")
    assert run_locally(manifest, volumes=tmp_path, environment=venv) == 7
    output = capfd.readouterr().out
    assert "hosts: localhost slots=2" in output
    assert f"python -m training.digits --output-dir {tmp_path}/runs/digits-p3" in output
    assert f"threads: {max(1, (os.cpu_count() or 1) // 2)}" in output


def test_ctrl_c_ends_every_process(manifest: Path, tmp_path: Path) -> None:
    marker = tmp_path / "child"
    body = (
        "import subprocess, time\n"
        "child = subprocess.Popen(['sleep', '300'])\n"
        f"open({str(marker)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(300)"
    )
    venv = environment_with_mpirun(tmp_path, body)
    command = [sys.executable, "-m", "training_workloads", "run-local", str(manifest), f"--environment={venv}"]
    # What the ranks run must be there, although this launcher starts none.
    (tmp_path / "training").mkdir()
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (marker.exists() and marker.read_text()):
        assert time.monotonic() < deadline, "the job did not start"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    deadline = time.monotonic() + 5
    while _runs(int(marker.read_text())):
        assert time.monotonic() < deadline, "a process of the job is still there"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().split()[2] != "Z"


def test_a_rank_that_fails_is_named_in_the_last_line(
    manifest: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = "prterun noticed that process rank 1 with PID 9 on node vm exited on signal 9 (Killed)."
    venv = environment_with_mpirun(tmp_path, f"print('{words}', file=sys.stderr); sys.exit(137)")
    assert run_locally(manifest, volumes=tmp_path, environment=venv) == 137
    assert capfd.readouterr().err.splitlines() == [
        words,
        "run-local: rank 1 was ended by SIGKILL; no rank runs any more",
    ]


def test_a_program_that_only_the_image_has(manifest: Path, tmp_path: Path) -> None:
    before, mpirun, after = manifest.read_text().partition("- mpirun\n")
    manifest.write_text(before + mpirun + after.replace("- python\n", "- all_gather_perf\n", 1))
    venv = environment_with_mpirun(tmp_path, "")
    with pytest.raises(InputError) as caught:
        run_locally(manifest, volumes=tmp_path, environment=venv)
    assert str(caught.value) == (
        f"each rank runs 'all_gather_perf', which is not in '{venv}/bin' or on PATH; a program that only the image "
        "has, such as an NCCL test, runs on a cluster only: submit the job there"
    )


def test_no_mpirun(manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "none/bin").mkdir(parents=True)
    with pytest.raises(InputError, match=r"^'mpirun' is not in '.*/none/bin' or on PATH; run 'make setup' first$"):
        run_locally(manifest, volumes=tmp_path, environment=tmp_path / "none")


def test_no_virtual_environment(manifest: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^'--environment' is '.*/gone', which has no 'bin'; run 'make setup' where"):
        run_locally(manifest, volumes=tmp_path, environment=tmp_path / "gone")


def test_a_module_that_is_not_here(manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv = environment_with_mpirun(tmp_path, "")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^each rank runs 'python -m training.digits', which is not here; go to the"):
        run_locally(manifest, volumes=tmp_path, environment=venv)


def test_a_manifest_that_is_not_there(manifest: Path) -> None:
    with pytest.raises(
        InputError, match=r"which is not a file; 'training-workloads render' writes them, so far: .*digits-p3.k8s.yaml$"
    ):
        load_mpi_job(manifest.with_name("digits-p5.k8s.yaml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "which is not YAML"),
        ("kind: Pod", f"which holds Pod; {ONE_JOB}"),
        ("kind: Job\n---\nkind: Role", f"which holds Job, Role; {ONE_JOB}"),
        ("", f"which holds nothing; {ONE_JOB}"),
        ("kind: MPIJob\n---\nkind: MPIJob", f"which holds MPIJob, MPIJob; {ONE_JOB}"),
    ],
)
def test_a_file_without_exactly_one_job(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_mpi_job(path)
    assert message in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="which is not YAML"):
        load_mpi_job(path)


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
def test_a_job_without_a_role(role: str, job: dict[str, Any]) -> None:
    del job["spec"]["mpiReplicaSpecs"][role]
    with pytest.raises(InputError, match=rf"no 'spec.mpiReplicaSpecs.{role}.template.spec.containers\[0\]'"):
        plan_local_run(job, Path("/here"), Path("/scratch"))


def test_a_launcher_that_runs_something_else(job: dict[str, Any]) -> None:
    container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    container["command"] = ["sleep", "1"]
    with pytest.raises(
        InputError, match=r"^the launcher's command is 'sleep 1'; a local run needs 'mpirun -np <ranks> …' or "
    ):
        plan_local_run(job, Path("/here"), Path("/scratch"))


def test_a_launchers_command_that_is_a_string(job: dict[str, Any]) -> None:
    job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = "mpirun -np 2"
    with pytest.raises(InputError, match=r"^the launcher's 'command' is 'mpirun -np 2'; write a list of words$"):
        plan_local_run(job, Path("/here"), Path("/scratch"))


def test_zero_ranks(job: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^'--ranks' is 0; give 1 or more$"):
        plan_local_run(job, Path("/here"), Path("/scratch"), ranks=0)


def test_what_is_written_is_read_back(manifest: Path, job: dict[str, Any]) -> None:
    assert next(yaml.safe_load_all(manifest.read_text())) == job
