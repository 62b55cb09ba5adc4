"""The GPU nodes that a recipe takes from `cluster.yaml`, and the recipe that does."""

from pathlib import Path
from typing import Any

import pytest

from training_workloads import HorovodJobSpec
from training_workloads.recipes import recipe
from training_workloads.recipes.digits import gpu_nodes

GROUPS = """
node_groups:
  second: {instance_type: g5.12xlarge, max_size: 4}
  first:
    instance_type: p5.48xlarge
"""


def names(folder: Path, text: str) -> list[str]:
    (folder / "cluster.yaml").write_text(text)
    return [one.name for one in gpu_nodes(folder)]


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
    assert gpu_nodes(tmp_path) == []


def test_the_file_of_this_project_names_its_default(root: Path) -> None:
    assert [one.name for one in gpu_nodes(root)] == ["p4d.24xlarge"]


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
