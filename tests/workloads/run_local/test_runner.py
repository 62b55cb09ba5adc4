import copy
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workloads.run_local.conftest import launcher_of
from training_workloads import InputError
from training_workloads.manifests.documents import read_documents
from training_workloads.mpijob.launcher_argv import horovodrun_command
from training_workloads.run_local.local_plan import LocalRun, plan_local_run
from training_workloads.run_local.run_target import read_job
from training_workloads.run_local.runner import run_locally

# A placeholder of mpirun that prints its arguments.
FAKE_MPIRUN = """#!{python}
import os, sys
hostfile = sys.argv[sys.argv.index("--hostfile") + 1]
print("hosts:", open(hostfile).read().strip())
print("args:", *sys.argv[1:])
print("threads:", os.environ["TF_NUM_INTRAOP_THREADS"], flush=True)
{body}
"""

# The sizes of a rank's pools of threads, which a job for GPU nodes derives from their CPUs.
THREADS = ("TF_NUM_INTRAOP_THREADS", "TRAINING_DATA_THREADS")


def plan(job: dict[str, Any], ranks: int | None = None) -> LocalRun:
    (document,) = read_documents(yaml.safe_dump(job), "job.yaml")
    return plan_local_run(document, Path("/here"), Path("/scratch"), ranks)


def environment_with_mpirun(folder: Path, body: str = "", packages: Sequence[str] = ("horovod",)) -> Path:
    """Return a virtual environment with a placeholder of mpirun, and with a Python that finds some packages."""
    programs = {
        "mpirun": FAKE_MPIRUN.format(python=sys.executable, body=body),
        "python": f'#!/bin/sh\nPYTHONPATH={folder}/packages:$PYTHONPATH exec {sys.executable} "$@"\n',
    }
    for name, text in programs.items():
        program = folder / "venv/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
    for package in packages:
        (folder / "packages" / package).mkdir(parents=True)
    return folder / "venv"


def test_only_hosts_volumes_and_threads_change(job: dict[str, Any]) -> None:
    launcher = launcher_of(job)
    end = launcher["command"].index("--") + 1
    waiting, launcher["command"] = launcher["command"][:end], launcher["command"][end:]
    launcher["command"][5:9] = ["--map-by", "ppr:4:socket", "--bind-to", "socket"]
    # More threads than this machine has for a rank.
    launcher["env"] = [{**entry, **({"value": "960"} if entry["name"] in THREADS else {})} for entry in launcher["env"]]
    with_waiting = copy.deepcopy(job)
    first = launcher_of(with_waiting)
    first["command"] = waiting + first["command"]
    run = plan(with_waiting)
    assert run.command[1:3] == ("--stdin", "none")
    command = (run.command[0], *run.command[3:])
    changed = {old: new for old, new in zip(launcher["command"], command, strict=True) if old != new}
    assert changed == {
        "/etc/mpi/hostfile": "/scratch/hostfile",
        "ppr:4:socket": "slot",
        "socket": "none",
        "/fsx/runs/digits": "/here/runs/digits",
    }
    variables = {entry["name"]: entry["value"] for entry in launcher["env"]}
    assert {name: run.environment[name] for name in variables if variables[name] != run.environment[name]} == {
        **dict.fromkeys(THREADS, str(max(1, (os.cpu_count() or 1) // 2))),
        "PRTE_MCA_prte_default_hostfile": "/scratch/hostfile",
        # Open MPI 5 gives it precedence over the hostfile on some machines.
        "PRTE_MCA_prte_set_default_slots": "2",
    }
    assert (run.ranks, run.program[0], run.module) == (2, "python", "training.digits")


def test_a_manifest_without_tags_gets_them(job: dict[str, Any]) -> None:
    launcher = launcher_of(job)
    launcher["command"] = ["mpirun", "-np", "16", "python", "-m", "training.digits"]
    run = plan(job, ranks=4)
    assert " ".join(run.command) == (
        "mpirun --tag-output --stdin none --bind-to none --map-by slot -np 4 python -m training.digits"
    )


def test_an_elastic_job_runs_on_this_machine(job: dict[str, Any]) -> None:
    launcher = launcher_of(job)
    launcher["command"] = horovodrun_command(8, 1, 4, ["python", "-m", "training.digits"])
    run = plan(job, ranks=2)
    assert (run.launcher, run.program[0], run.private) == ("horovodrun", "python", True)
    assert " ".join(run.command).startswith(
        "horovodrun -np 2 --min-np 2 --max-np 2 --host-discovery-script /scratch/discover_hosts.sh --slots-per-host 2 "
        "--network-interface lo "
    )


def test_fewer_ranks_on_request(job: dict[str, Any]) -> None:
    run = plan(job, ranks=1)
    assert run.command[:5] == ("mpirun", "--stdin", "none", "-np", "1")
    assert {run.environment[name] for name in THREADS if name in run.environment} == {str(os.cpu_count())}


def test_a_path_in_an_options_value_is_local_and_a_similar_one_stays(job: dict[str, Any]) -> None:
    container = launcher_of(job)
    container["command"] += ["--data=/fsx/data", "/fsx2/x", "/fsx"]
    assert plan(job).command[-3:] == ("--data=/here/data", "/fsx2/x", "/here")


def test_the_launchers_command_runs_and_its_exit_code_is_ours(
    manifest: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    venv = environment_with_mpirun(tmp_path, "sys.exit(7)")
    assert run_locally(manifest, volumes=tmp_path, environment=venv) == 7
    output = capfd.readouterr().out
    short = f"python -m training.digits --output-dir {tmp_path}/runs/digits"[:100]
    assert output.splitlines()[0].startswith(f"running digits: 2 ranks of {short}")
    assert output.splitlines()[0].endswith(f" (from {manifest})")
    assert "hosts: localhost slots=2" in output
    assert f"python -m training.digits --output-dir {tmp_path}/runs/digits" in output
    assert f"threads: {max(1, (os.cpu_count() or 1) // 2)}" in output


def test_a_script_runs_with_its_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # An import in a `try` may be missing; one from the script's folder is found.
    Path("beside.py").touch()
    Path("train.py").write_text("import beside\ntry:\n    import nothing_such\nexcept ImportError: pass\n")
    venv = environment_with_mpirun(tmp_path)
    assert run_locally("train.py", volumes=tmp_path, environment=venv, ranks=3, arguments=["--epochs", "3"]) == 0
    first, hosts, command, *_ = capfd.readouterr().out.splitlines()
    assert first == "running train.py: 3 ranks of python train.py --epochs 3"
    assert hosts == "hosts: localhost slots=3"
    assert command.endswith(" python train.py --epochs 3")


def test_the_launcher_has_a_home_where_this_program_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    venv = environment_with_mpirun(tmp_path, "print('home:', os.environ['HOME'])")
    assert run_locally("train.py", volumes=tmp_path, environment=venv) == 0
    assert f"home: {Path.home()}" in capfd.readouterr().out


def test_open_mpi_keeps_its_files_in_a_folder_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    (tmp_path / "train.py").touch()
    names = ["TMPDIR", "OMPI_MCA_btl_sm_backing_directory", "OMPI_MCA_btl_vader_backing_directory"]
    venv = environment_with_mpirun(tmp_path, f"print('files:', *{{os.environ[name] for name in {names}}})")
    assert run_locally(str(tmp_path / "train.py"), volumes=tmp_path, environment=venv) == 0
    (folder,) = re.findall(r"files: (\S+)$", capfd.readouterr().out, flags=re.M)
    assert Path(folder).name.startswith("mpi-")
    assert not Path(folder).exists()


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
    # The ranks' module must exist, although this launcher starts no rank.
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
        assert time.monotonic() < deadline, "a process of the job still runs"
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
    _, said, command, end = capfd.readouterr().err.splitlines()
    assert (said, end) == (
        words,
        "run-local: rank 1 was ended by SIGKILL; no rank runs any more",
    )
    assert command.startswith("run-local: the command was mpirun --stdin none -np 2 --hostfile ")
    assert re.search(r" \(/\S+/mpi-\w+ is removed now\)$", command)


def test_rejects_a_missing_manifest(manifest: Path) -> None:
    missing = manifest.with_name("digits-p5.k8s.yaml")
    with pytest.raises(InputError) as caught:
        read_job(missing)
    assert str(caught.value) == (
        f"'file' is '{missing}', but it does not exist; render manifests with 'trainctl render', or give one "
        f"of {manifest}"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kind: Pod", "Pod"),
        ("kind: Job\n---\nkind: Role", "Job, Role"),
        ("", "no Kubernetes object"),
    ],
)
def test_rejects_a_file_without_exactly_one_job(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_job(path)
    assert str(caught.value) == (
        f"'file' is '{path}', but it contains {found}, and only the launcher of one MPIJob, or one Job of torchrun, "
        "can run here; give a file with exactly one of them, or a Python script, whose name ends in .py"
    )


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00"])
def test_rejects_a_file_that_is_not_yaml(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_job(path)
    assert caught.value.problems[0].source.startswith(str(path))


def test_a_folder_may_have_the_one_job(manifest: Path) -> None:
    assert read_job(manifest.parent).where() == read_job(manifest).where()


def test_the_option_of_other_commands_is_not_advised(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_job(tmp_path)
    assert str(caught.value).endswith("; give a folder with manifests")


@pytest.mark.parametrize("placement", ["--map-by ppr:4:socket --bind-to socket", "-map-by slot -bind-to none"])
def test_mpirun_shares_the_cores_of_this_machine(placement: str, job: dict[str, Any]) -> None:
    launcher_of(job)["command"] = f"mpirun -np 16 {placement} --tag-output -x PATH python -m x".split()
    dashes = "-" if placement.startswith("-map") else "--"
    assert " ".join(plan(job, ranks=2).command) == (
        f"mpirun --stdin none -np 2 {dashes}map-by slot {dashes}bind-to none --tag-output -x PATH python -m x"
    )


def test_horovodrun_without_elastic_options_gets_none(job: dict[str, Any]) -> None:
    launcher_of(job)["command"] = ["horovodrun", "-np", "16", "python", "x.py"]
    assert " ".join(plan(job, ranks=2).command) == "horovodrun --network-interface lo -np 2 python x.py"


def test_keeps_what_starts_the_launcher(job: dict[str, Any]) -> None:
    before = ("python", "-m", "training.nccl_test", "--", "/opt/bin/mpirun")
    launcher_of(job)["command"] = [*before, "-np", "16", "--mca", "pml", "ob1", "all_reduce_perf", "-b", "8"]
    run = plan(job)
    assert (run.command[:5], run.launcher, run.ranks, run.private) == (before, "mpirun", 16, True)
    assert (run.program, run.module) == (("all_reduce_perf", "-b", "8"), None)


def test_behind_an_unknown_option_the_program_is_unknown(job: dict[str, Any]) -> None:
    launcher_of(job)["command"] = "mpirun -np 2 --unheard-of a python x.py".split()
    assert plan(job).program == ()


@pytest.mark.parametrize(
    ("command", "given", "wanted"),
    [
        (["sleep", "1"], "is 'sleep 1'", "'mpirun -np <ranks> …' or 'horovodrun -np <ranks> …'"),
        (["mpiexec.hydra", "-n", "2", "x"], "is 'mpiexec.hydra -n 2 x'", "'mpirun -np <ranks> …' or 'horovodrun"),
        (["mpirun", "-np", "many", "python"], "is 'mpirun -np many python'", "'mpirun -np <ranks> …'"),
        (["mpirun", "-np"], "is 'mpirun -np'", "'mpirun -np <ranks> …'"),
        (["horovodrun", "python"], "is 'horovodrun python'", "'horovodrun -np <ranks> …'"),
        ("mpirun -np 2", "is 'mpirun -np 2'", "'mpirun -np <ranks> …' or 'horovodrun"),
        (None, "is missing", "'mpirun -np <ranks> …' or 'horovodrun"),
    ],
)
def test_rejects_a_command_without_a_launcher_and_ranks(
    command: Any, given: str, wanted: str, job: dict[str, Any]
) -> None:
    launcher_of(job)["command"] = command
    if command is None:
        del launcher_of(job)["command"]
    with pytest.raises(InputError) as caught:
        plan(job)
    (problem,) = caught.value.problems
    assert problem.source.startswith("job.yaml:")
    text = str(problem).removeprefix(
        f"{problem.source}: 'spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].command' "
    )
    assert text.startswith(
        f"{given}, but a local run needs a list of words with a launcher and its number of ranks; start the ranks with "
        f"{wanted}"
    )


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
def test_a_job_without_a_role(role: str, job: dict[str, Any]) -> None:
    del job["spec"]["mpiReplicaSpecs"][role]
    if role == "Worker":
        # There is no claim to replace.
        assert "/fsx/runs/digits" in plan(job).command
    else:
        with pytest.raises(InputError, match="a local run needs a list of words with a launcher"):
            plan(job)


def test_rejects_zero_ranks(job: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^'ranks' is 0; give 1 or more$"):
        plan(job, ranks=0)
