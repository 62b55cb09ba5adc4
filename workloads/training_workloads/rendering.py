"""Renders specs into manifest files: a folder of jobs, and a folder that contains the platform and nothing else."""

import errno
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cdk8s

from training_workloads.jobs.constructs import define_job
from training_workloads.jobs.kinds import JobSpec
from training_workloads.jobs.mpi_constructs import IsolatedMpiJob
from training_workloads.lint import Finding, lint_manifest
from training_workloads.manifests.documents import MANIFEST_SUFFIXES
from training_workloads.planning.job_prediction import predicted_annotations
from training_workloads.platform.device_plugins import EfaDevicePluginChart, NvidiaDevicePluginChart
from training_workloads.platform.lustre_folders import LustreFoldersChart
from training_workloads.platform.mpi_operator import MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.platform.platform_spec import (
    EFA_DEVICE_PLUGIN,
    EFS_VOLUME,
    LUSTRE_FOLDERS,
    LUSTRE_VOLUME,
    MPI_JOB_DEFINITION,
    MPI_OPERATOR,
    NVIDIA_DEVICE_PLUGIN,
    PLATFORM_FILES,
    PlatformSpec,
)
from training_workloads.platform.volumes import EfsVolumeChart, LustreVolumeChart
from training_workloads.validation import MISSING, InputError, Problem, Problems, check

__all__ = ["add_platform", "render_jobs", "render_platform"]

_DEVICE_PLUGINS = {NVIDIA_DEVICE_PLUGIN: NvidiaDevicePluginChart, EFA_DEVICE_PLUGIN: EfaDevicePluginChart}


def add_platform(app: cdk8s.App, spec: PlatformSpec) -> None:
    """Add the charts of a platform to an app, each of which becomes a file.

    Args:
        app: The app.
        spec: The parts and volumes.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    for part in dict.fromkeys(spec.parts):
        if part == MPI_OPERATOR:
            MpiJobDefinitionChart(app, MPI_JOB_DEFINITION)
            MpiOperatorChart(app, MPI_OPERATOR, gang_scheduler=spec.gang_scheduler, mirror=spec.mirror)
        else:
            _DEVICE_PLUGINS[part](app, part, mirror=spec.mirror)
    if spec.lustre:
        lustre = asdict(spec.lustre)
        LustreVolumeChart(app, LUSTRE_VOLUME, **lustre, namespace=spec.namespace)
        LustreFoldersChart(app, LUSTRE_FOLDERS, **lustre, mirror=spec.mirror)
    if spec.efs:
        EfsVolumeChart(app, EFS_VOLUME, **asdict(spec.efs), namespace=spec.namespace)


# More than the largest manifest has.
_PROBE_BYTES = 64 * 1024

# A full disk is no mistake in a value.
_FULL = (errno.ENOSPC, errno.EDQUOT)


def render_jobs(specs: Iterable[JobSpec], folder: Path) -> tuple[list[Path], list[str]]:
    """Render one manifest a job, `<job>.k8s.yaml`.

    Args:
        specs: The jobs.
        folder: Where the files go.

    Returns:
        The paths, and the lint's warnings, each with the job's name first.

    Raises:
        InputError: Two jobs have one name, the folder is that of the platform, or the lint finds an error.
    """
    specs = list(specs)
    check(_unique_names(specs), _no_platform(folder))
    app = _app(folder)
    warnings = []
    for spec in specs:
        chart = cdk8s.Chart(app, spec.name)
        job = define_job(chart, "Job", spec=spec)
        warnings += [f"{spec.name}: {warning}" for warning in _lint_warnings(chart.to_json())]
        if isinstance(job, IsolatedMpiJob):
            for key, value in predicted_annotations(spec).items():
                job.mpi_job.metadata.add_annotation(key, value)
    _write(app, folder)
    return [folder / f"{spec.name}.k8s.yaml" for spec in specs], warnings


def _lint_warnings(documents: Iterable[Any]) -> Iterator[Finding]:
    """Yield the lint's warnings of some documents, and raise its errors."""
    for document in documents:
        findings = lint_manifest(document)
        check(_problem(finding, document) for finding in findings if finding.level == "error")
        yield from findings


def _problem(finding: Finding, document: Any) -> Problem:
    given = document
    for key in finding.path:
        try:
            given = given[key]
        except (KeyError, IndexError, TypeError):
            given = MISSING
    allowed = f"the lint reports {finding.rule}: {finding.problem}"
    return Problem(path=finding.path, given=given, allowed=allowed, fix=finding.fix)


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
    check(_nothing_else(folder))
    app = _app(folder)
    add_platform(app, spec)
    written = [folder / f"{chart.node.id}.k8s.yaml" for chart in app.charts]
    removed = [path for name in PLATFORM_FILES if (path := folder / name).is_file() and path not in written]
    _write(app, folder)
    for path in removed:
        path.unlink()
    return sorted(written), sorted(removed)


def _app(folder: Path) -> cdk8s.App:
    """Return an app that writes into a new folder in that of the manifests: a move within a file system is atomic."""
    return cdk8s.App(outdir=str(folder.absolute() / f".render-{uuid.uuid4().hex}"))


def _write(app: cdk8s.App, folder: Path) -> None:
    """Render every manifest, then replace the files; before that a failure or an interrupt changes none of them."""
    names = [f"{chart.node.id}.k8s.yaml" for chart in app.charts]
    _prepare(folder, names)
    written = Path(app.outdir)
    try:
        app.synth()
        for name in names:
            (written / name).replace(folder / name)
    except RuntimeError:
        # What Node.js reports of a full disk is text; Python asks the disk itself.
        _probe(folder)
        raise
    finally:
        shutil.rmtree(written, ignore_errors=True)


def _probe(folder: Path) -> None:
    """Write as much as a manifest into a folder, and remove it; raise OSError if that fails."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_PROBE_BYTES))


def _prepare(folder: Path, names: Iterable[str]) -> None:
    """Create the folder, and check that the files can be written: cdk8s would fail with a trace of JavaScript."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _probe(folder)
    except OSError as error:
        if error.errno in _FULL:
            raise
        why = "it is a file" if folder.is_file() else f"nothing can be written there ({error.strerror})"
        fix = "give a folder that you may write to"
        raise InputError(Problem(path=("outdir",), given=str(folder), allowed=why, fix=fix)) from error
    for path in (folder / name for name in names):
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
