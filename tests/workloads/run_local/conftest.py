"""A rendered job, and the releases of MPI on this machine."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from training_workloads.recipes import recipe
from training_workloads.rendering import render_jobs
from training_workloads.run_local.run_target import read_job


@pytest.fixture(params=["Open MPI 5", "Open MPI 4"])
def environment(request: pytest.FixtureRequest, root: Path) -> Path:
    """A folder whose bin/ has the mpirun of a release."""
    folder = {"Open MPI 5": root / ".venv-training", "Open MPI 4": Path("/usr")}[request.param]
    program = folder / "bin/mpirun"
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout if program.exists() else ""
    if f"(Open MPI) {request.param[-1]}." not in version:
        pytest.skip(f"{program} is not {request.param}")
    return folder


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (path,), _ = render_jobs([recipe("digits")], tmp_path / "dist")
    return path


@pytest.fixture
def job(manifest: Path) -> dict[str, Any]:
    return dict(read_job(manifest).content)


def launcher_of(job: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    return container
