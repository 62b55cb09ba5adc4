"""From specs to manifest files: a folder of jobs, and a folder that is the platform and nothing else."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

import cdk8s

from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.kinds import JobSpec, define_job
from training_workloads.mpijob.documents import MANIFEST_SUFFIXES
from training_workloads.platform.parts import PLATFORM_FILES, PlatformSpec, add_platform
from training_workloads.validation import InputError

__all__ = ["render_jobs", "render_platform"]


def render_jobs(specs: Iterable[JobSpec], folder: Path) -> tuple[list[Path], list[str]]:
    """Writes one manifest a job, `<job>.k8s.yaml`.

    Args:
        specs: The jobs.
        folder: Where the files go.

    Returns:
        The paths, and what the lint advises against, each with the job's name first.

    Raises:
        InputError: A job has the name of another, or the folder is that of the platform.
    """
    specs, taken = list(specs), set()
    for spec in specs:
        if spec.name in taken:
            raise InputError(f"'name' is {spec.name!r}, which another manifest has already; choose another name")
        taken.add(spec.name)
    _check_no_platform(folder)
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
    """Makes a folder whose manifests are a platform and nothing else, so that it can be applied as a whole.

    Args:
        spec: What the cluster gets.
        folder: Where the files go. Files of parts that the spec does not have are removed.

    Returns:
        The paths that were written, and those that were removed.

    Raises:
        InputError: The folder has manifests of something else, or the namespace is not one of Kubernetes.
    """
    _check_nothing_else(folder)
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
    """Makes the folder, and finds out whether the files can be written: cdk8s would answer with JavaScript's words."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(
            f"'outdir' is {str(folder)!r}, where nothing can be written ({error.strerror}); give a folder that is yours"
        ) from error
    for path in (folder / f"{name}.k8s.yaml" for name in names):
        if path.is_dir():
            raise InputError(
                f"'outdir' is {str(folder)!r}, in which {path.name} is a folder; remove it, or give another"
            )


def _check_nothing_else(folder: Path) -> None:
    """Old jobs, say, would be started by whoever installs the platform."""
    # kubectl does not look into folders of the folder.
    applied = sorted(path.name for path in folder.glob("*") if path.suffix in MANIFEST_SUFFIXES)
    if others := [name for name in applied if name not in PLATFORM_FILES]:
        raise InputError(
            f"'outdir' is {str(folder)!r}, where 'kubectl apply -f {folder}' would apply {', '.join(others)} too; "
            "remove or move what is not the platform ('training-workloads render' writes jobs into dist/jobs), or give "
            "another folder"
        )


def _check_no_platform(folder: Path) -> None:
    platform = sorted(name for name in PLATFORM_FILES if (folder / name).is_file())
    if platform:
        raise InputError(
            f"'outdir' is {str(folder)!r}, the folder of the platform ({', '.join(platform)}), which is applied as a "
            "whole; give a folder for jobs, such as dist/jobs"
        )
