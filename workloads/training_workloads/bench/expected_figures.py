"""The plan's prediction for a cell, and the figures that were published for as many of its GPUs."""

from typing import Any

from training_workloads.bench.cells import Cell
from training_workloads.catalog.published_runs import PUBLISHED_RUNS
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.planning.job_prediction import planned_setup
from training_workloads.planning.prediction import predict
from training_workloads.planning.training_setup import TrainingSetup

__all__ = ["expected_figures"]


def expected_figures(cell: Cell) -> dict[str, Any]:
    """Return `predicted`, in images/s as `render` annotates it, and `published`, by the name of the run."""
    setup = None if cell.machine else planned_setup(cell.spec)
    if setup is not None:
        return {"predicted": predict(setup).images_per_second, "published": _speeds(setup, cell)}
    published = _bandwidth(cell.spec) if isinstance(cell.spec, NcclTestJobSpec) else {}
    return {"predicted": None, "published": published}


def _speeds(setup: TrainingSetup, cell: Cell) -> dict[str, float]:
    gpu = cell.spec.instance.gpu
    alike = (setup.model, setup.precision, gpu.model if gpu else "", cell.ranks)
    return {
        f"{each.name}{f' ({each.note})' if each.note else ''}": each.images_per_second
        for each in PUBLISHED_RUNS
        if (each.model, each.precision, each.gpu, each.gpus) == alike
    }


def _bandwidth(test: NcclTestJobSpec) -> dict[str, float]:
    figure = test.published
    if not figure or test.nodes != figure.nodes:
        return {}
    return {f"{figure.nodes} x {test.instance_type}, {figure.message_gib} GiB": figure.gigabytes_per_second}
