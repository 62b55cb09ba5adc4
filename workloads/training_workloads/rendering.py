"""Renders specs into manifest files: a folder of jobs, and a folder that contains the platform and nothing else."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import cdk8s

from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.kinds import JobSpec, define_job
from training_workloads.mpijob.documents import MANIFEST_SUFFIXES
from training_workloads.platform.parts import add_platform
from training_workloads.platform.platform_spec import PLATFORM_FILES, PlatformSpec
from training_workloads.validation import InputError, Problem, Problems, enforce

__all__ = ["render_jobs", "render_platform"]


def render_jobs(specs: Iterable[JobSpec], folder: Path) -> tuple[list[Path], list[str]]:
    """Render one manifest a job, `<job>.k8s.yaml`.

    Args:
        specs: The jobs.
        folder: Where the files go.

    Returns:
        The paths, and the lint's warnings, each with the job's name first.

    Raises:
        InputError: Two jobs have one name, or the folder is that of the platform.
    """
    specs = list(specs)
    enforce(specs, (_unique_names,))
    enforce(folder, (_no_platform,))
    app = cdk8s.App(outdir=str(folder.absolute()))
    jobs = {spec.name: define_job(cdk8s.Chart(app, spec.name), "Job", spec=spec) for spec in specs}
    _prepare(folder, jobs)
    app.synth()
    warnings = [
        f"{name}: {warning}"
        for name, job in jobs.items()
        if isinstance(job, IsolatedMpiJob)
        for warning in job.mpi_job.warnings
    ]
    return [folder / f"{name}.k8s.yaml" for name in jobs], warnings


def render_platform(spec: PlatformSpec, folder: Path) -> tuple[list[Path], list[Path]]:
    """Render a folder whose manifests are a platform and nothing else, so that it can be applied as a whole.

    Args:
        spec: What the cluster gets.
        folder: Where the files go. Files of parts that the spec does not have are removed.

    Returns:
        The paths that were written, and those that were removed.

    Raises:
        InputError: The folder has other manifests, or the namespace is not one of Kubernetes.
    """
    enforce(folder, (_nothing_else,))
    app = cdk8s.App(outdir=str(folder.absolute()))
    add_platform(app, spec)
    written = [folder / f"{chart.node.id}.k8s.yaml" for chart in app.charts]
    removed = [path for name in PLATFORM_FILES if (path := folder / name).is_file() and path not in written]
    _prepare(folder, ())
    app.synth()
    for path in removed:
        path.unlink()
    return sorted(written), sorted(removed)


def _prepare(folder: Path, names: Iterable[str]) -> None:
    """Create the folder, and check that the files can be written: cdk8s would fail with a trace of JavaScript."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        allowed = f"nothing can be written there ({error.strerror})"
        fix = "give a folder that you may write to"
        raise InputError(Problem(path=("outdir",), given=str(folder), allowed=allowed, fix=fix)) from error
    for path in (folder / f"{name}.k8s.yaml" for name in names):
        if path.is_dir():
            allowed = f"{path.name} in it is a folder"
            fix = "remove that, or give another folder"
            raise InputError(Problem(path=("outdir",), given=str(folder), allowed=allowed, fix=fix))


def _unique_names(specs: Sequence[JobSpec]) -> Problems:
    taken: set[str] = set()
    for spec in specs:
        if spec.name in taken:
            yield Problem(path=("name",), given=spec.name, allowed="another manifest has it", fix="choose another name")
        taken.add(spec.name)


def _nothing_else(folder: Path) -> Problems:
    """Reject other manifests: an installation of the platform would start old jobs, for example."""
    # kubectl does not read the folders inside the folder.
    applied = sorted(path.name for path in folder.glob("*") if path.suffix in MANIFEST_SUFFIXES)
    if others := [name for name in applied if name not in PLATFORM_FILES]:
        allowed = f"'kubectl apply -f {folder}' would apply {', '.join(others)} too"
        fix = "remove or move other manifests ('trainctl render' writes jobs into dist/jobs), or give another folder"
        yield Problem(path=("outdir",), given=str(folder), allowed=allowed, fix=fix)


def _no_platform(folder: Path) -> Problems:
    if platform := sorted(name for name in PLATFORM_FILES if (folder / name).is_file()):
        allowed = f"it is the folder of the platform ({', '.join(platform)}), which is applied as a whole"
        fix = "give a folder for jobs, such as dist/jobs"
        yield Problem(path=("outdir",), given=str(folder), allowed=allowed, fix=fix)
