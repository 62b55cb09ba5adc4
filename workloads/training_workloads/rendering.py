"""From job specs to manifest files: a folder of `<job>.k8s.yaml`."""

from collections.abc import Iterable
from pathlib import Path

import cdk8s

from training_workloads.errors import InputError
from training_workloads.jobs.horovod_job import HorovodJob, HorovodJobSpec
from training_workloads.platform import MpiJobDefinitionChart, MpiOperatorChart

__all__ = ["render_jobs", "render_platform"]

_DEFINITION = "mpi-job-definition"
_OPERATOR = "mpi-operator"


def render_jobs(specs: Iterable[HorovodJobSpec], folder: Path) -> list[Path]:
    """Writes one manifest a job and returns their paths.

    Raises:
        InputError: A job has the name of another, or of one of the operator's files.
    """
    taken = {_DEFINITION, _OPERATOR}
    specs = list(specs)
    for spec in specs:
        if spec.name in taken:
            raise InputError(f"'name' is {spec.name!r}, which another manifest has already; choose another name")
        taken.add(spec.name)
    app = cdk8s.App(outdir=str(folder))
    for spec in specs:
        HorovodJob(cdk8s.Chart(app, spec.name), "Job", spec=spec)
    app.synth()
    return [folder / f"{spec.name}.k8s.yaml" for spec in specs]


def render_platform(folder: Path) -> list[Path]:
    """Writes the MPI operator's manifests, for a cluster that the CDK stack did not make, and returns their paths."""
    app = cdk8s.App(outdir=str(folder))
    MpiJobDefinitionChart(app, _DEFINITION)
    MpiOperatorChart(app, _OPERATOR)
    app.synth()
    return [folder / f"{name}.k8s.yaml" for name in (_DEFINITION, _OPERATOR)]
