"""Facts about a launch command that several rules need: what else sets its options, and what its ranks run."""

import re
from difflib import get_close_matches

from training_workloads.lint.known_variables import is_known
from training_workloads.manifests.torchrun import torchrun
from training_workloads.mpijob.launch_command import SHELLS, Launch, program_of
from training_workloads.mpijob.launch_options import MAP_BY
from training_workloads.mpijob.view import MpiJobView

__all__ = [
    "has_parameter",
    "is_open_mpi_5",
    "misspelled_exports",
    "ranks_per_node",
    "runs_script",
    "spawns_ranks",
    "workers_of",
]

# Programs that start a process for each GPU of a node themselves.
_SPAWNERS = {"torchrun", "accelerate", "deepspeed", "composer", "torch.distributed.run", "torch.distributed.launch"}

# How a path or an image says that it has Open MPI 5, and its launcher.
_OPEN_MPI_5 = re.compile(r"(open-?mpi|ompi)[-_/]?v?5(\b|[._-])", re.IGNORECASE)


def has_parameter(job: MpiJobView, parameters: tuple[str, ...]) -> bool:
    """Return whether an MCA parameter is an option, is in the script, or is a variable of the launcher."""
    launcher = job.launcher.first
    return any(parameter in word for word in (*launcher.argv, *launcher.environment) for parameter in parameters)


def is_open_mpi_5(job: MpiJobView, launch: Launch) -> bool:
    """Return whether a launch is known to be by Open MPI 5."""
    image = str(job.launcher.first.content.get("image"))
    known = launch.launcher == "prterun" or _OPEN_MPI_5.search(launch.words[0]) or _OPEN_MPI_5.search(image)
    return bool(known) or launch.has("prtemca", "gprtemca")


def workers_of(job: MpiJobView) -> int:
    """Return how many pods hold ranks; 0 where that is not known."""
    workers = job.worker.replicas
    return workers + job.launcher_holds_ranks if workers and workers > 0 else 0


def ranks_per_node(launch: Launch) -> int | None:
    """Return how many ranks the launch maps to each node; None where it does not say so."""
    value = launch.value("N", "npernode")
    policy, _, rest = (launch.value(MAP_BY) or "").partition(":")
    if value is None and policy == "ppr":
        count, _, place = rest.partition(":")
        value = count if place.partition(":")[0] == "node" else None
    return int(value) if value is not None and value.isdecimal() and len(value) < 10 else None


def spawns_ranks(launch: Launch) -> bool:
    """Return whether each rank starts a process for each GPU of its node."""
    run = torchrun(launch.program)
    if run and run.ranks == 1:
        return False
    return any(word in _SPAWNERS or word.startswith(("--nproc_per", "--nproc-per")) for word in launch.program) or (
        program_of(launch.program) in _SPAWNERS
    )


def runs_script(launch: Launch) -> bool:
    """Return whether the ranks run a shell script, which may start a process for each GPU of its node."""
    return program_of(launch.program) in {*SHELLS, ""}


def misspelled_exports(job: MpiJobView) -> dict[str, str]:
    """Return the names of `-x` that are not set, each with a variable of the launcher that has almost that name."""
    variables = job.launcher.first.environment
    if not job.is_open_mpi or job.launcher.first.content.get("envFrom"):
        return {}
    exported: dict[str, str | None] = {}
    for launch in job.launches:
        exported |= launch.exported
    others = [name for name in variables if name not in exported]
    misspelled = {}
    for name, value in exported.items():
        if value is not None or name in variables:
            continue
        close = get_close_matches(name, others, n=1, cutoff=0.85)
        # Of two names that programs read, the one that is not set may be a variable of the image.
        if close and not (is_known(name) and is_known(close[0])):
            misspelled[name] = close[0]
    return misspelled
