"""The GPU nodes of `cluster.yaml`: the recipe that takes its type from them, and jobs that have no node there."""

from pathlib import Path
from typing import Any

import pytest

from training_workloads import HorovodJobSpec
from training_workloads.recipes import recipe
from training_workloads.recipes.cluster_fit import misfit, misfits, node_groups

GROUPS = """
node_groups:
  second: {instance_type: g5.12xlarge, max_size: 4}
  first:
    instance_type: p5.48xlarge
"""


def names(folder: Path, text: str) -> list[str]:
    (folder / "cluster.yaml").write_text(text)
    return [one.instance_type for one in node_groups(folder)]


def test_the_groups_of_the_file_in_their_order(tmp_path: Path) -> None:
    assert names(tmp_path, GROUPS) == ["g5.12xlarge", "p5.48xlarge"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "# nothing", "lustre: {}", "node_groups:", "node_groups: {}", "node_groups: []"),
        # Of other tools, and mistakes that `cdk synth` reports.
        *(
            "cluster_name: ray",
            "node_groups: {gpu: {}}",
            "node_groups: {main: {instance_type: m5.large}}",
            "a: {{ jinja }}",
            "node_groups: [",
        ),
    ],
)
def test_a_file_without_gpu_nodes_says_nothing(text: str, tmp_path: Path) -> None:
    assert names(tmp_path, text) == []


def test_a_folder_of_that_name_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").mkdir()
    assert node_groups(tmp_path) == []


def test_the_file_of_this_project_names_its_default(root: Path) -> None:
    assert [one.instance_type for one in node_groups(root)] == ["p4d.24xlarge"]


def digits(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> HorovodJobSpec:
    monkeypatch.chdir(folder)
    job = recipe("digits", **changes)
    assert isinstance(job, HorovodJobSpec)
    return job


def test_the_digits_run_on_the_nodes_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.yaml").write_text(GROUPS)
    job = digits(tmp_path, monkeypatch)
    assert (job.instance_type, job.workers) == ("g5.12xlarge", 2)
    assert (job.resources.gpus, job.resources.efa_interfaces) == (1, 0)
    assert digits(tmp_path, monkeypatch, instance_type="p5.48xlarge").instance_type == "p5.48xlarge"


def test_without_the_file_the_digits_run_on_p4d(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert digits(tmp_path, monkeypatch).instance_type == "p4d.24xlarge"


def test_the_digits_skip_gpus_that_tensorflow_does_not_support(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.yaml").write_text(GROUPS.replace("g5.12xlarge", "p6-b200.48xlarge"))
    assert digits(tmp_path, monkeypatch).instance_type == "p5.48xlarge"
    (tmp_path / "cluster.yaml").write_text("node_groups: {gpu: {instance_type: p6-b200.48xlarge}}")
    assert digits(tmp_path, monkeypatch).instance_type == "p4d.24xlarge"


CLUSTER = """
availability_zones: [us-east-1a, us-east-1b]
node_groups:
  gpu: {instance_type: p4d.24xlarge, max_size: 2}
  spot: {instance_type: p5.48xlarge, max_size: 4, capacity_type: SPOT}
"""


@pytest.mark.parametrize(
    ("changes", "scheduling", "problem"),
    [
        ({}, {}, None),
        ({"instance_type": "p5.48xlarge"}, {}, None),
        ({"workers": 16}, {}, None),
        (
            {"workers": 17},
            {},
            "17 workers with 1 GPU each, but cluster.yaml has room for 16, by the 'max_size' of gpu (2); lower "
            "'--workers', or raise 'max_size'",
        ),
        (
            {"instance_type": "g5.12xlarge"},
            {},
            "no node for it in cluster.yaml, whose instance type is p4d.24xlarge, p5.48xlarge, not g5.12xlarge; change "
            "'--instance-type' of the job, or cluster.yaml",
        ),
        (
            {},
            {"node_group": "gpus"},
            "no node for it in cluster.yaml, whose node group is gpu, spot, not gpus; change '--node-group' of the "
            "job, or cluster.yaml",
        ),
        (
            {},
            {"capacity_type": "SPOT"},
            "no node for it in cluster.yaml, whose capacity type is ON_DEMAND, not SPOT; change '--capacity-type' of "
            "the job, or cluster.yaml",
        ),
    ],
)
def test_a_job_is_compared_with_the_node_groups(
    changes: dict[str, Any],
    scheduling: dict[str, Any],
    problem: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    monkeypatch.chdir(tmp_path)
    job = recipe("digits", scheduling=scheduling, **changes)
    assert misfit(job, node_groups()) == problem
    assert misfit(job, []) is None
    assert misfit(recipe("tensorboard"), node_groups()) is None


@pytest.mark.parametrize(("zone", "is_there"), [("us-east-1a", True), ("us-east-1b", False)])
def test_a_manifest_is_compared_with_the_node_groups(zone: str, is_there: bool, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    selector = {"node.kubernetes.io/instance-type": "p4d.24xlarge", "topology.kubernetes.io/zone": zone}
    limits = {"nvidia.com/gpu": 8}
    pod = {"nodeSelector": selector, "containers": [{"name": "a", "image": "b:1", "resources": {"limits": limits}}]}
    spec = {"parallelism": 2, "template": {"spec": pod}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "mine"}, "spec": spec}
    sentence = (
        f"mine: no node for it in cluster.yaml, whose zone is us-east-1a, not {zone}; change the zone of the job, or "
        "cluster.yaml"
    )
    assert list(misfits([job, None], node_groups(tmp_path))) == ([] if is_there else [sentence])
    assert list(misfits([job], [])) == []
