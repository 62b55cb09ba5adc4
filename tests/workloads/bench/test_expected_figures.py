"""The prediction and the published figures beside the cells of a sweep."""

from pathlib import Path
from typing import Any

import pytest

from training_workloads.bench.cells import sweep_cells
from training_workloads.bench.results_folder import expected_figures
from training_workloads.bench.sweep import load_sweep

SWEEP = """
recipe: {recipe}
runner: cluster
job: {{image: 'registry/training:1', instance_type: {type}}}
axes: {{nodes: [2], {axis}}}
budget: 100
planned_hours: 0.5
"""


def expected(recipe: str, instance_type: str, axis: str) -> dict[str, Any]:
    Path("sweep.yaml").write_text(SWEEP.format(recipe=recipe, type=instance_type, axis=axis))
    (cell,) = sweep_cells(load_sweep("sweep.yaml"))
    return expected_figures(cell)


@pytest.mark.usefixtures("folder")
def test_a_cell_has_the_plan_of_render_and_the_runs_in_its_precision() -> None:
    found = expected("resnet50-p3dn", "p3dn.24xlarge", "--epochs: [3]")
    # As `render` annotates the recipe: tests/workloads/planning/test_job_prediction.py.
    assert round(found["predicted"]) == 18_695
    assert found["published"]["DGX-2, TensorFlow 1, mixed, XLA"] == 17_250
    assert any(name.endswith("(a user's runs; more efficient on 32 GPUs than on 8)") for name in found["published"])
    in_float32 = expected("resnet50-p3dn", "p3dn.24xlarge", "--precision: [float32], --batch-size: [128]")
    assert in_float32["published"] == {
        "InfiniBand, TensorFlow 1, Horovod, float32": 5099,
        "InfiniBand, TensorFlow 2.3, float32": 4850,
    }


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("recipe", "instance_type", "axis"),
    [
        ("resnet50-p3dn", "p3dn.24xlarge", "--batch-size: [64]"),
        ("resnet50-p3dn", "p3dn.24xlarge", "storage: [efs]"),
        ("resnet50-spot", "p4d.24xlarge", "--epochs: [3]"),
        # H100 has only the ceiling of another framework.
        ("resnet50-p5", "p5.48xlarge", "--batch-size: [408]"),
        ("digits", "p4d.24xlarge", "--epochs: [3]"),
        ("nccl-p4d", "p4de.24xlarge", "efa_interfaces: [1]"),
        ("nccl-p4d", "p4de.24xlarge", "efa_interfaces: [0]"),
        ("nccl-p4d", "p4de.24xlarge", "collective: [all_gather]"),
    ],
)
def test_what_render_does_not_predict_has_nothing_beside_it(recipe: str, instance_type: str, axis: str) -> None:
    assert expected(recipe, instance_type, axis) == {"predicted": None, "published": {}}


@pytest.mark.usefixtures("folder")
def test_an_all_reduce_with_all_interfaces_has_the_published_bandwidth() -> None:
    found = expected("nccl-p4d", "p4de.24xlarge", "efa_interfaces: [4]")
    assert found == {"predicted": None, "published": {"2 x p4de.24xlarge, 2 GiB": 78.3}}


@pytest.mark.usefixtures("folder")
def test_a_local_run_is_compared_with_nothing() -> None:
    Path("sweep.yaml").write_text("{recipe: resnet50-p3dn, runner: local, axes: {ranks: [16]}}")
    (cell,) = sweep_cells(load_sweep("sweep.yaml"), "this machine")
    assert expected_figures(cell) == {"predicted": None, "published": {}}
