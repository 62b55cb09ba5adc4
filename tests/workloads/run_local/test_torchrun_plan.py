"""A Job of torchrun on this machine: its command, its environment, how it ends, and a real torchrun."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workloads.run_local.test_supervisor import run
from training_workloads import InputError, TorchElasticJobSpec
from training_workloads.manifests.documents import read_documents
from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs
from training_workloads.run_local.local_plan import LocalRun
from training_workloads.run_local.run_target import read_target
from training_workloads.run_local.runner import run_locally
from training_workloads.run_local.supervisor import supervise
from training_workloads.run_local.torchrun_plan import (
    plan_torchrun,
    plan_torchrun_script,
)

# What torchrun of PyTorch 2.15 writes at the end, shortened: it ended rank 1 after rank 0 had failed.
CHILD_FAILED = """\
Failures:
[1]:
  rank      : 1 (local_rank: 1)
  exitcode  : -15 (pid: 27646)  (SIGTERM)
Root Cause (first observed failure):
[0]:
  time      : 2026-11-23_14:27:57
  rank      : 0 (local_rank: 0)
  exitcode  : {code} (pid: 27645)
"""


def job(command: list[str], **container: Any) -> dict[str, Any]:
    containers = [{"name": "worker", "image": "i", "command": command, **container}]
    pod = {"restartPolicy": "Never", "containers": containers}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "mine"},
        "spec": {"template": {"spec": pod}},
    }


def plan(document: dict[str, Any], ranks: int | None = None) -> LocalRun:
    (read,) = read_documents(yaml.safe_dump(document), "job.yaml")
    return plan_torchrun(read, Path("/here"), Path("/scratch"), ranks)


def test_a_recipe_runs_as_one_node_with_two_ranks(tmp_path: Path) -> None:
    spec = recipe("torch-resnet50-p4d")
    assert isinstance(spec, TorchElasticJobSpec)
    (path,), _ = render_jobs([spec], tmp_path)
    made = plan_torchrun(read_target(str(path)).job, Path("/here"), Path("/scratch"))
    assert made.command == (
        *("torchrun", "--standalone", "--nproc-per-node=2", "--max-restarts=0", "--tee=3", "--log-dir=/scratch"),
        *("--no-python", "python", "-m", "training.torch_imagenet", "--data-dir", "/here/data/imagenet"),
        *("--output-dir", "/here/runs/torch-resnet50-p4d", "--model", "resnet50", "--batch-size", "256"),
        *("--checkpoint-every", "500steps"),
    )
    assert (made.name, made.ranks, made.module, made.writes, made.private) == (
        *("torch-resnet50-p4d", 2, "training.torch_imagenet", True, True),
    )
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    variables = {"OMP_NUM_THREADS": threads, "TRAINING_DATA_THREADS": threads, "CUDA_VISIBLE_DEVICES": ""}
    assert {name: made.environment[name] for name in variables} == variables
    assert made.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
    # Its value is in the pod alone.
    assert "TRAINING_JOB_UID" not in made.environment


def test_a_script_of_another_job_runs_too() -> None:
    made = plan(job(["/opt/bin/torchrun", "--nnodes=4", "train.py", "--text", "two words"]), ranks=3)
    assert made.command[:3] == ("torchrun", "--standalone", "--nproc-per-node=3")
    assert made.command[-3:] == ("train.py", "--text", "two words")
    assert (made.script, made.environment["OMP_NUM_THREADS"]) == (
        *("train.py", str(max(1, (os.cpu_count() or 1) // 3))),
    )


@pytest.mark.parametrize(
    ("command", "ranks", "message"),
    [
        (
            ["bash", "-c", "torchrun train.py"],
            None,
            "job.yaml:9: 'spec.template.spec.containers[0].command' is 'bash -c torchrun train.py', but a local run "
            "needs a list of words that begins with torchrun; start the ranks with 'torchrun … <program>'",
        ),
        (["torchrun", "train.py"], 0, "'ranks' is 0; give 1 or more"),
    ],
)
def test_rejects_what_cannot_start_here(command: list[str], ranks: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        plan(job(command), ranks)
    assert str(caught.value) == message


def test_without_its_environment_the_command_that_makes_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job(["torchrun", "train.py"])))
    with pytest.raises(InputError) as caught:
        run_locally("job.yaml", volumes=tmp_path)
    assert str(caught.value) == (
        "'environment' is '.venv-torch', but it has no 'bin'; create it ('make setup-torch', or as README.md of your "
        "project says), or give the one with the job's programs"
    )


@pytest.mark.parametrize(("code", "ours", "how"), [(3, 3, "ended with exit code 3"), (-9, 137, "was ended by SIGKILL")])
def test_the_rank_that_ended_first_is_named_and_its_code_is_ours(code: int, ours: int, how: str) -> None:
    text = CHILD_FAILED.format(code=code)
    ending = run(f"import sys; sys.exit({text!r})")
    assert (ending.code, ending.reason) == (ours, f"rank 0 {how}; no rank runs any more")


def torchrun(program: str) -> None:
    supervise([sys.executable, "-c", program], dict(os.environ), name="torchrun", hides_traceback=True)


def test_its_traceback_is_shown_only_where_no_rank_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    traceback = "Traceback (most recent call last):\n  File main\n"
    failed = f"{traceback}torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    torchrun(f"import sys; print('before', file=sys.stderr); sys.exit({failed + CHILD_FAILED.format(code=2)!r})")
    assert capfd.readouterr().err == "before\n"
    lost = f"{traceback}RendezvousConnectionError: the store\n"
    torchrun(f"import sys; sys.exit({lost!r})")
    assert capfd.readouterr().err == f"{lost}\n"
    torchrun(f"import sys; sys.exit({traceback + 'ValueError: logged' + chr(10) + failed!r})")
    assert capfd.readouterr().err == f"{traceback}ValueError: logged\n"


def test_another_programs_lines_behind_a_traceback_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    """SageMaker's entry point starts torchrun, whose ranks have no tags there, and ends with the reason."""
    text = f"Traceback (most recent call last):\n{CHILD_FAILED.format(code=2)}\nerror: the ranks ended with exit code 2"
    supervise([sys.executable, "-c", f"import sys; sys.exit({text!r})"], dict(os.environ), name="torchrun")
    assert capfd.readouterr().err == f"{text}\n"


def test_ranks_that_saved_on_request_end_with_the_code_of_a_stop() -> None:
    ending = run(f"import sys; sys.exit({CHILD_FAILED.format(code=75)!r})")
    assert (ending.code, ending.failed) == (75, False)


def test_a_real_torchrun_tags_the_lines_of_each_rank(
    root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    environment = root / ".venv-torch"
    if not (environment / "bin/torchrun").exists():
        pytest.skip("run make setup-torch")
    program = ["sh", "-c", "echo out $RANK of $WORLD_SIZE; echo err $RANK >&2; [ $RANK = 0 ] || sleep 60; exit 3"]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job(["torchrun", "--nnodes=1:2", "--no-python", *program])))
    assert run_locally(tmp_path / "job.yaml", volumes=tmp_path, environment=environment) == 3
    output, errors = capfd.readouterr()
    assert sorted(output.splitlines()[1:]) == ["rank  0 | out 0 of 2", "rank  1 | out 1 of 2"]
    assert {"rank  0 | err 0", "rank  1 | err 1"} <= set(errors.splitlines())
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "run-local: rank 0 ended with exit code 3; no rank runs any more"


def test_a_script_of_torch_is_started_as_on_one_node(tmp_path: Path) -> None:
    run = plan_torchrun_script("train.py", ("--epochs", "3"), tmp_path)
    assert run.command[:3] == ("torchrun", "--standalone", "--nproc-per-node=2")
    assert run.command[-3:] == ("train.py", "--epochs", "3")
    assert (run.ranks, run.script, run.private) == (2, "train.py", True)
