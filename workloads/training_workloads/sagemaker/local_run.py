"""A job on this machine as SageMaker runs it: the image's entry point on one host, with SageMaker's files.

The program and its hyperparameters are those of the request. Folders of the local volumes stand in for the channels
and for the checkpoints, ranks have this machine's share of cores, and nothing is sent anywhere.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from training_workloads.jobs.rank_environment import OPENMP_THREADS
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.volumes import RUNS_DIRECTORY
from training_workloads.recipes.scripts import TORCHRUN
from training_workloads.run_local.local_plan import LocalRun, local_threads, localized_path
from training_workloads.run_local.runner import run_planned
from training_workloads.sagemaker.container_program import (
    CHECKPOINTS,
    ContainerProgram,
    container_program,
    is_file,
    runs_on_sagemaker,
)
from training_workloads.sagemaker.data_source import INPUT
from training_workloads.validation import Problem, Problems, check, enforce

__all__ = ["plan_sagemaker_run", "run_as_on_sagemaker"]

_ROOT = "/opt/ml"

# A host of SageMaker has eight GPUs or so, for which this machine's memory may have no room.
_RANKS = 2

# SageMaker's algo-1 has no address here.
_HOST = {"current_host": "localhost", "hosts": ["localhost"], "network_interface_name": "lo"}


def run_as_on_sagemaker(
    spec: Any,
    *,
    volumes: Path,
    environment: Path | None = None,
    ranks: int | None = None,
    open_network: bool = False,
) -> int:
    """Run a job by the entry point of the image, and return its exit code.

    Raises:
        InputError: SageMaker cannot run the program, or something is missing here.
    """
    with tempfile.TemporaryDirectory(prefix="sagemaker-") as folder:
        run = plan_sagemaker_run(spec, volumes.absolute(), Path(folder), ranks)
        run = replace(run, private=not open_network)
        return run_planned(run, Path(folder), volumes=volumes, environment=environment)


def plan_sagemaker_run(spec: Any, volumes: Path, root: Path, ranks: int | None = None) -> LocalRun:
    """Return the entry point's command, and write what SageMaker would write for it into a folder in place of /opt/ml.

    Raises:
        InputError: SageMaker cannot run the program, the volumes lack what it reads, or `ranks` is below 1.
    """
    enforce(spec, (runs_on_sagemaker,))
    count = _RANKS if ranks is None else ranks
    threads = local_threads(count)
    program = container_program(spec)
    check(program.problems, _missing(program, volumes))
    folders = {_ROOT: root}
    _write(root, "resourceconfig.json", _HOST)
    values = {name: localized_path(value, folders) for name, value in program.hyperparameters.items()}
    _write(root, "hyperparameters.json", values)
    for channel, path in program.inputs.items():
        folder = (volumes / path).parent if is_file(channel, path) else volumes / path
        _link(root, f"{INPUT}/{channel}", folder)
    if program.writes:
        kept = volumes / RUNS_DIRECTORY / spec.name
        kept.mkdir(parents=True, exist_ok=True)
        _link(root, CHECKPOINTS, kept)
    words = [localized_path(word, folders) for word in program.arguments(count)]
    is_torch = isinstance(spec, TorchElasticJobSpec)
    return LocalRun(
        name=spec.name,
        launcher=TORCHRUN if is_torch else "python",
        command=(*program.entry_point, "--root", str(root), *words),
        # As run-local of a job of torchrun: no rank takes all cores, or a GPU.
        environment={**spec.environment, **threads}
        | {OPENMP_THREADS: next(iter(threads.values())), "CUDA_VISIBLE_DEVICES": ""},
        ranks=count,
        program=tuple(spec.command),
        writes=program.writes,
        private=True,
    )


def _missing(program: ContainerProgram, volumes: Path) -> Problems:
    """Reject volumes without the data: the program would name a folder of SageMaker that is no longer there."""
    for path in program.inputs.values():
        if not (volumes / path).exists():
            allowed = f"it has no {path}, which the job reads"
            yield Problem(path=("volumes",), given=str(volumes), allowed=allowed, fix="put it there, or a link to it")


def _write(root: Path, name: str, content: object) -> None:
    path = root / "input/config" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def _link(root: Path, path: str, target: Path) -> None:
    link = root / Path(path).relative_to(_ROOT)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
