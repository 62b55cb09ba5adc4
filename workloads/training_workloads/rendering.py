"""From job specs to manifest files: a folder of `<job>.k8s.yaml`."""

from collections.abc import Iterable
from pathlib import Path

import cdk8s

from training_workloads.horovod_job import HorovodJob, HorovodJobSpec
from training_workloads.platform import MpiJobDefinitionChart, MpiOperatorChart

__all__ = ["render_jobs", "render_platform"]


def render_jobs(specs: Iterable[HorovodJobSpec], folder: Path) -> list[Path]:
    """Writes one manifest a job and returns their paths."""
    app = cdk8s.App(outdir=str(folder))
    names = [_add_job(app, spec) for spec in specs]
    app.synth()
    return [folder / f"{name}.k8s.yaml" for name in names]


def render_platform(folder: Path) -> list[Path]:
    """Writes the MPI operator's manifests, for a cluster that the CDK stack did not make, and returns their paths."""
    app = cdk8s.App(outdir=str(folder))
    MpiJobDefinitionChart(app, "mpi-job-definition")
    MpiOperatorChart(app, "mpi-operator")
    app.synth()
    return [folder / f"{name}.k8s.yaml" for name in ("mpi-job-definition", "mpi-operator")]


def _add_job(app: cdk8s.App, spec: HorovodJobSpec) -> str:
    HorovodJob(cdk8s.Chart(app, spec.name), "Job", spec=spec)
    return spec.name
