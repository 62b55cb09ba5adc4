"""The command of this machine for torchrun: of a Job, a TrainJob or a script.

There is one node, whose ranks meet at a store here. Torchrun's options are those of this machine: no other node is
waited for, and a rank that failed is not started again. A job's program has a local folder for each mounted claim.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from training_workloads.jobs.rank_environment import OPENMP_THREADS
from training_workloads.jobs.train_job import TRAIN_JOB
from training_workloads.manifests.documents import Document
from training_workloads.manifests.other_workloads import other_workload
from training_workloads.manifests.torchrun import Torchrun, own_words, torchrun
from training_workloads.manifests.values import mapping
from training_workloads.recipes.scripts import TORCHRUN, script_program
from training_workloads.run_local.local_plan import LocalRun, local_threads, localized_path, shown_name
from training_workloads.validation import MISSING, InputError, Problem

__all__ = ["plan_torchrun", "plan_torchrun_script", "runs_torchrun"]

# A worker has as many as its node has GPUs, which this machine's memory may not have room for.
_RANKS = 2

# The tag that horovodrun writes, so that each line begins with its rank. Torchrun replaces `${rank}`
# (`_start_workers` in torch/distributed/elastic/agent/server/local_elastic_agent.py, read in torch 2.15.0).
_LINES = {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "[${rank}]<stdout>:"}


def runs_torchrun(document: Document) -> bool:
    """Return whether a document is a Job or a TrainJob whose container runs torchrun."""
    return _torchrun(document) is not None


def plan_torchrun(document: Document, volumes: Path, scratch: Path, ranks: int | None = None) -> LocalRun:
    """Return the command of this machine for a Job of torchrun, with 2 ranks by default.

    Raises:
        InputError: Torchrun is started by a shell, or `ranks` is below 1.
    """
    run, view = _torchrun(document), other_workload(document.content)
    assert run is not None
    assert view is not None
    pods = view.groups[0]
    container, claims = pods.first, pods.claim_mounts
    if not own_words(container.argv):
        raise InputError(_cannot_start(document, container.argv, container.argv_path("torch")))
    count = _RANKS if ranks is None else ranks
    threads = local_threads(count)
    paths = dict.fromkeys(claims, volumes)
    program = tuple(localized_path(word, paths) for word in run.program)
    kept = [f"--{name}" for name in ("no-python", "run-path") if name in run.options]
    given = {name: str(value) for name, (value, _) in container.environment.items() if value is not None}
    return LocalRun(
        name=shown_name(document),
        launcher=TORCHRUN,
        command=(*_options(count, scratch), *kept, *program),
        environment={name: threads.get(name, localized_path(value, paths)) for name, value in given.items()}
        | _variables(threads),
        ranks=count,
        program=program if "no-python" in run.options else ("python", *program),
        writes=bool(claims),
        hides_traceback=True,
        private=True,
    )


def plan_torchrun_script(script: str, arguments: Sequence[str], scratch: Path, ranks: int | None = None) -> LocalRun:
    """Return the command that runs a script of PyTorch as ranks, 2 by default, as torchrun would on a node."""
    count = _RANKS if ranks is None else ranks
    threads = local_threads(count)
    _, *program = script_program(script)
    return LocalRun(
        name=script,
        launcher=TORCHRUN,
        command=(*_options(count, scratch), *program, *arguments),
        environment=_variables(threads),
        ranks=count,
        program=("python", *program, *arguments),
        hides_traceback=True,
        private=True,
    )


def _options(ranks: int, scratch: Path) -> list[str]:
    # `tee`: on the terminal, with the tag of the rank; that needs a folder.
    logs = ["--tee=3", f"--log-dir={scratch}"]
    return [TORCHRUN, "--standalone", f"--nproc-per-node={ranks}", "--max-restarts=0", *logs]


def _variables(threads: Mapping[str, str]) -> dict[str, str]:
    # A process without them takes all cores, and one with a GPU would use it.
    return {OPENMP_THREADS: next(iter(threads.values())), "CUDA_VISIBLE_DEVICES": "", **_LINES}


def _torchrun(document: Document) -> Torchrun | None:
    view = other_workload(mapping(document.content))
    if view is None or view.kind not in ("Job", TRAIN_JOB) or not view.groups[0].containers:
        return None
    return torchrun(view.groups[0].first.argv)


def _cannot_start(document: Document, argv: list[str], path: tuple[str | int, ...]) -> Problem:
    return Problem(
        path=path,
        given=" ".join(argv) or MISSING,
        allowed="a local run needs a list of words that begins with torchrun",
        fix="start the ranks with 'torchrun … <program>'",
        source=document.where(path),
    )
