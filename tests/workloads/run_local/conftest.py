"""A rendered job."""

from pathlib import Path
from typing import Any

import pytest

from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs
from training_workloads.run_local.run_target import read_mpi_job


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (path,), _ = render_jobs([recipe("digits-p3")], tmp_path / "dist")
    return path


@pytest.fixture
def job(manifest: Path) -> dict[str, Any]:
    return dict(read_mpi_job(manifest).content)


def launcher_of(job: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    return container
