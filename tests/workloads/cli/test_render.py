"""`render` and its options."""

from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tests.workloads.cli.conftest import Command, names_in
from training_workloads.cli import local_commands
from training_workloads.recipes import NEEDS, RECIPES

LOCAL_ONLY = "the image is localhost/training:latest, which only this machine has; for a cluster give '--image'\n"

Render = Callable[..., tuple[dict[str, Any], str]]


@pytest.fixture
def render(command: Command, tmp_path: Path) -> Render:
    """Render a recipe; return the job and what is printed on standard error."""

    def run(*arguments: str) -> tuple[dict[str, Any], str]:
        code, output, errors = command("render", *arguments)
        assert code == 0, errors
        job, *_ = yaml.safe_load_all((tmp_path / output.splitlines()[0]).read_text())
        return job, errors

    return run


def test_writes_every_recipe_that_needs_no_option(tmp_path: Path, command: Command) -> None:
    code, output, errors = command("render")
    # Those of PyTorch, in the order of their names.
    images = [LOCAL_ONLY.replace("training:", f"training-torch{each}:") for each in ("-cuda12", "")]
    skipped = "skipped stage-data, which needs --source and --service-account\n"
    assert (code, errors) == (0, "".join([*images, LOCAL_ONLY, skipped]))
    names = set(RECIPES) - set(NEEDS)
    assert names_in(tmp_path / "dist/jobs") == names
    assert set(output.split()) == {f"dist/jobs/{name}.k8s.yaml" for name in names}


def test_derives_a_job_from_a_recipe(tmp_path: Path, render: Render) -> None:
    options = ["--name=mine", "--workers=4", "--gpus-per-worker=2", "--image=repo/image:3", "--namespace=team"]
    render("digits", *options)
    job, policy = yaml.safe_load_all((tmp_path / "dist/jobs/mine.k8s.yaml").read_text())
    assert job["metadata"] == policy["metadata"] == {"name": "mine", "namespace": "team"}
    container = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert container["image"] == "repo/image:3"
    assert container["command"][container["command"].index("-np") + 1] == "8"


def test_scheduling(render: Render) -> None:
    job, _ = render("digits-p4d", "--queue=research", "--gang", "--priority-class=high", "--capacity-type=ON_DEMAND")
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "research"}
    assert job["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 3, "priorityClass": "high"}
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["nodeSelector"]["eks.amazonaws.com/capacityType"] == "ON_DEMAND"


def test_scheduling_changes_only_the_given_fields_of_the_recipe(render: Render) -> None:
    job, _ = render("digits-spot", "--queue=research")
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["nodeSelector"]["eks.amazonaws.com/capacityType"] == "SPOT"


def test_an_elastic_job(render: Render) -> None:
    job, _ = render("digits-spot", "--workers=3", "--min-workers=2", "--max-workers=6")
    command = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert [command[command.index(flag) + 1] for flag in ("--min-np", "--max-np")] == ["2", "6"]


def test_an_nccl_test(render: Render) -> None:
    job, _ = render("nccl-p5", "--nodes=4", "--collective=all_gather", "--efa-interfaces=1")
    assert job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 4
    command = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    assert "all_gather_perf" in command


def test_a_dataset(render: Render) -> None:
    job, _ = render("stage-data", "--source=s3://bucket/data/x/", "--service-account=stage", "--pods=3")
    assert job["spec"]["completions"] == 3
    assert "/fsx/data/x" in job["spec"]["template"]["spec"]["containers"][0]["command"]


def test_imagenet_in_class_folders(render: Render) -> None:
    needed = ("--source=s3://bucket/data/ilsvrc/", "--service-account=stage")
    job, _ = render("stage-data", *needed, "--class-folders=runs/imagenet")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == [
        *("python", "-m", "training.imagenet.class_folders"),
        *("--source", "/fsx/data/ilsvrc", "--output-dir", "/fsx/runs/imagenet"),
    ]


def test_limits_and_binding(render: Render) -> None:
    job, errors = render("digits-p4d", "--bind-to=none", "--backoff-limit=1", "--deadline-seconds=600", "--image=i:1")
    assert (job["spec"]["runPolicy"]["backoffLimit"], job["spec"]["runPolicy"]["activeDeadlineSeconds"]) == (1, 600)
    assert errors == ""


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["tensorboard", "--workers=3", "--queue=x"], ["--queue", "--workers"]),
        (["digits-spot", "--min-workers=9"], ["--min-workers"]),
        (["stage-data", "--source=s3://bucket/x/"], ["--service-account"]),
        (
            ["stage-data", "--source=x", "--pods=0", "--workers=2", "--name=A_"],
            ["--name", "--pods", "--service-account", "--source", "--workers"],
        ),
        (["stage-data", "--source=x", "--service-account=x", "--pods=0"], ["--pods", "--source"]),
        (["digits", "--name=A_", "--workers=0", "--queue=B_"], ["--name", "--queue", "--workers"]),
        (["digits", "nccl-p4d", "--name=x", "--image="], ["--image", "--name"]),
        (["digits", "--efa-interfaces=4"], ["--efa-interfaces"]),
        (["nccl-p5", "--efa-interfaces=33"], ["--efa-interfaces"]),
        (["digits-p4d", "--gpus-per-worker=3"], ["--gpus-per-worker"]),
        (["digits", "--instance-type=p4d.24xlage"], ["--instance-type"]),
        (["digits", "--outdir=/proc/x"], ["--outdir"]),
        (["digits", "--outdir="], ["--outdir"]),
        (["digits", "--capacity-type=spot"], ["--capacity-type"]),
        (
            ["digits", "--workers=0", "--gpus-per-worker=0", "--image="],
            ["--gpus-per-worker", "--image", "--workers"],
        ),
        (["digits", f"--name={'n' * 60}"], ["--name"]),
        (["digit-p4d"], ["RECIPE"]),
    ],
)
def test_each_problem_has_the_name_of_its_option(arguments: list[str], names: list[str], command: Command) -> None:
    code, output, errors = command("render", *arguments)
    assert (code, output) == (2, "")
    assert sorted(line.split()[1].strip("'") for line in errors.splitlines()) == names


def test_the_old_name_of_a_recipe_is_answered_with_the_new_one(command: Command) -> None:
    message = "error: 'RECIPE' is 'digits-p3', but AWS has retired its instance type; give digits\n"
    assert command("render", "digits-p3") == (2, "", message)


def test_the_digits_are_for_the_nodes_of_cluster_yaml_or_of_the_option(tmp_path: Path, render: Render) -> None:
    def selected(*options: str) -> Any:
        job, _ = render("digits", *options)
        return job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["nodeSelector"]

    assert selected() == {"node.kubernetes.io/instance-type": "p4d.24xlarge"}
    (tmp_path / "cluster.yaml").write_text("node_groups: {gpu: {instance_type: g6.12xlarge}}")
    assert selected() == {"node.kubernetes.io/instance-type": "g6.12xlarge"}
    assert selected("--instance-type=p5.48xlarge") == {"node.kubernetes.io/instance-type": "p5.48xlarge"}


@pytest.mark.parametrize("name", ["digits-p4d", "nccl-p4d", "torch-resnet50-p4d"])
def test_a_retired_type_is_rendered_with_a_warning(name: str, render: Render, tmp_path: Path) -> None:
    _, errors = render(name, "--instance-type=p3.16xlarge", "--image=repository/own:1")
    (line,) = [line for line in errors.splitlines() if "retired" in line]
    assert line.startswith(f"{name}: warning: ")
    assert "AWS retired it on 2025-12-20 (https://" in line
    assert line.endswith("the pod stays Pending; choose p3dn.24xlarge or p4d.24xlarge [retired-instance-type]")
    assert "p3.16xlarge" in (tmp_path / f"dist/jobs/{name}.k8s.yaml").read_text()


def test_a_name_is_for_one_recipe(command: Command) -> None:
    message = f"error: '--name' is 'x', but {len(RECIPES) - len(NEEDS)} recipes are rendered; give one recipe\n"
    assert command("render", "--name=x") == (2, "", message)


def test_a_package_may_replace_a_recipe_of_the_library(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = EntryPoint("digits", "training_workloads.recipes.digits:digits_p5", "trainctl.recipes")
    monkeypatch.setattr("training_workloads.recipes.recipe_sources.entry_points", EntryPoints([theirs]).select)
    assert command("render").code == 0
    assert {"digits", "digits-p4d"} <= names_in(tmp_path / "dist/jobs")
    assert "p5.48xlarge" in (tmp_path / "dist/jobs/digits.k8s.yaml").read_text()


def test_the_options_are_those_of_the_page(root: Path) -> None:
    """Each option is made from the field of a job; the page has its names and its help."""
    options = [each for each in local_commands.render.params if isinstance(each, click.Option)]
    rows = [
        f"| {', '.join(f'`{name}`' for name in (*each.opts, *each.secondary_opts))} | {each.help} |" for each in options
    ]
    section = (root / "docs/command-line.md").read_text().partition("## `render`")[2].partition("\n## ")[0]
    assert [line for line in section.splitlines() if line.startswith("| `")] == rows
