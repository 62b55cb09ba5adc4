"""The options of `render`, in this process."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from training_workloads.cli import app
from training_workloads.validation import InputError


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def render(*arguments: str) -> tuple[dict[str, Any], str]:
    """The job that is rendered, and what is said on standard error."""
    result = CliRunner().invoke(app, ["render", *arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    job, *_ = yaml.safe_load_all(Path(result.stdout.splitlines()[0]).read_text())
    return job, result.stderr


def test_scheduling() -> None:
    job, _ = render("digits-p4d", "--queue=research", "--gang", "--priority-class=high", "--capacity-type=ON_DEMAND")
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert job["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 3, "priorityClass": "high"}
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["nodeSelector"]["eks.amazonaws.com/capacityType"] == "ON_DEMAND"


def test_scheduling_adds_to_that_of_the_recipe() -> None:
    job, _ = render("digits-spot", "--queue=research")
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["nodeSelector"]["eks.amazonaws.com/capacityType"] == "SPOT"


def test_an_elastic_job() -> None:
    job, _ = render("digits-spot", "--workers=3", "--min-workers=2", "--max-workers=6")
    command = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert [command[command.index(flag) + 1] for flag in ("--min-np", "--max-np")] == ["2", "6"]


def test_an_nccl_test() -> None:
    job, _ = render("nccl-p5", "--nodes=4", "--collective=all_gather", "--efa-interfaces=1")
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 4
    command = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert "all_gather_perf" in command


def test_a_dataset() -> None:
    job, _ = render("stage-data", "--source=s3://bucket/data/x/", "--service-account=stage", "--pods=3")
    assert job["spec"]["completions"] == 3
    assert "/fsx/data/x" in job["spec"]["template"]["spec"]["containers"][0]["command"]


def test_limits_and_binding() -> None:
    job, said = render("digits-p4d", "--bind-to=none", "--backoff-limit=1", "--deadline-seconds=60", "--image=i:1")
    assert (job["spec"]["runPolicy"]["backoffLimit"], job["spec"]["runPolicy"]["activeDeadlineSeconds"]) == (1, 60)
    assert said == ""


def test_a_recipe_that_needs_options_is_left_out_of_all() -> None:
    _, said = render()
    assert said.splitlines() == [
        "the image is localhost/training:latest, which only this machine has; for a cluster give '--image'",
        "left out stage-data, which needs --source and --service-account",
    ]
    assert "stage-data.k8s.yaml" not in os.listdir("dist/jobs")


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (
            ["tensorboard", "--workers=3", "--queue=x"],
            [
                "'--queue' does not go with tensorboard; it goes with digits-p3, digits-p4d",
                "'--workers' does not go with tensorboard; it goes with digits-p3",
            ],
        ),
        (
            ["digits-spot", "--min-workers=9"],
            ["'--min-workers' is 9, '--workers' is 2 and '--max-workers' is 4; give numbers that rise in this order"],
        ),
        (
            ["stage-data", "--source=s3://b/x"],
            ["'--service-account' is needed for stage-data; give the name of one whose"],
        ),
        (
            ["nccl-p5", "--efa-interfaces=33"],
            ["'--efa-interfaces' is 33 but p5.48xlarge has 32; lower it, or leave it"],
        ),
        (
            ["digits-p3", "--instance-type=p4d.24xlarge"],
            ["'--gpus-per-worker' is 1, but on p4d.24xlarge an EFA interface serves 2 GPUs; use a multiple of 2, or"],
        ),
        (["digits-p3", "--outdir=/proc/x"], ["'--outdir' is '/proc/x', where nothing can be written (No such file"]),
        (["digits-p3", "--capacity-type=spot"], ["'--capacity-type' is 'spot'; give one of ON_DEMAND, SPOT, CAPACITY"]),
    ],
)
def test_mistakes_are_named_as_they_were_typed(arguments: list[str], messages: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        render(*arguments)
    assert len(caught.value.args) == len(messages)
    assert all(message in told for message, told in zip(messages, caught.value.args, strict=True))
