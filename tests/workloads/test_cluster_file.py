"""The instance type that a recipe takes from `cluster.yaml`, and the recipe that does."""

from pathlib import Path
from typing import Any

import pytest

from training_workloads import HorovodJobSpec, InputError
from training_workloads.recipes import recipe
from training_workloads.recipes.cluster_file import first_gpu_type

GROUPS = """
node_groups:
  second: {instance_type: g5.12xlarge, max_size: 4}
  first:
    instance_type: p5.48xlarge
"""


def problem(folder: Path, text: str) -> str:
    """Return the problem of a file with a text, without its folder."""
    (folder / "cluster.yaml").write_text(text)
    with pytest.raises(InputError) as caught:
        first_gpu_type(folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_the_first_group_of_the_file_counts(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(GROUPS)
    assert first_gpu_type(tmp_path) == "g5.12xlarge"


@pytest.mark.parametrize("text", ["", "# nothing", "lustre: {}", "node_groups:", "node_groups: {}", "node_groups: []"])
def test_a_file_without_a_group_says_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(text)
    assert first_gpu_type(tmp_path) is None


def test_the_file_of_this_project_names_its_default(root: Path) -> None:
    assert first_gpu_type(root) == "p4d.24xlarge"


def test_a_type_that_is_not_known_has_its_line(tmp_path: Path) -> None:
    assert problem(tmp_path, GROUPS.replace("g5.12xlarge", "g5.12xlage")) == (
        "cluster.yaml:3: 'node_groups.second.instance_type' is 'g5.12xlage', but it is not known; did you mean "
        "g5.12xlarge or g5.2xlarge or g7.12xlarge?"
    )
    assert problem(tmp_path, GROUPS.replace("g5.12xlarge", "m5.xlarge")).startswith(
        "cluster.yaml:3: 'node_groups.second.instance_type' is 'm5.xlarge', but it has no GPU; choose one of p3dn."
    )


def test_a_group_without_a_type_has_its_line(tmp_path: Path) -> None:
    found = problem(tmp_path, "node_groups:\n  gpu: {max_size: 2}\n")
    assert found.startswith("cluster.yaml:2: 'node_groups.gpu.instance_type' is ")


def test_a_file_that_is_no_yaml_has_its_place(tmp_path: Path) -> None:
    found = problem(tmp_path, "node_groups:\n  gpu: {instance_type\n")
    assert found.startswith("cluster.yaml:3 is the end, but this is not YAML: ")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").mkdir()
    with pytest.raises(InputError) as caught:
        first_gpu_type(tmp_path)
    assert str(caught.value).endswith("cluster.yaml', but it cannot be read (Is a directory); correct or remove it")


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


def test_a_mistake_in_the_file_is_one_of_the_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cluster.yaml").write_text(GROUPS.replace("g5.12xlarge", "g5"))
    with pytest.raises(InputError, match=r"^cluster\.yaml:3: 'node_groups\.second\.instance_type' is 'g5', but it is"):
        digits(tmp_path, monkeypatch)
