"""Rules on which node and which cores a rank gets: the mapping and the binding of Open MPI.

https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html
"""

import re
from collections.abc import Iterator

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.launch_facts import has_parameter, is_open_mpi_5, spawns_ranks
from training_workloads.lint.node_types import node_types
from training_workloads.lint.purpose import runs_network_test
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import MPIRUN
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import is_placeholder
from training_workloads.mpijob.launch_command import HYDRA, Launch
from training_workloads.mpijob.launch_options import (
    BIND_TO,
    HOROVODRUN,
    MAP_BY,
    ONE_RANK_PER_NODE,
    RANK_BY,
    RANKS,
    RANKS_PER_NODE,
    Option,
    is_option_of_hydra,
)
from training_workloads.mpijob.view import MpiJobView

# Older spellings of --bind-to, options that bind as well, and MCA parameters that do.
_BINDINGS = ("bind-to-core", "bind-to-socket", "bind-to-none", "cpu-set", "cpu-list", "slot-list", "rankfile", "rf")
_BINDING_PARAMETERS = ("hwloc_base_binding_policy", "hwloc_default_binding_policy", "rmaps_rank_file_path")

_OBJECTS = ("hwthread", "core", "l1cache", "l2cache", "l3cache", "numa", "socket", "package", "board", "node")

# The beginnings of each option's values; https://github.com/open-mpi/ompi/blob/v4.1.x/orte/mca/schizo/ompi/schizo_ompi.c
# and `man prterun`.
_VALUES: dict[Option, tuple[str, ...]] = {
    BIND_TO: ("none", *_OBJECTS, "cpu-list", "cpulist"),
    MAP_BY: ("slot", *_OBJECTS, "ppr", "seq", "dist", "rankfile", "pe-list", "mindist", "minload", "likwid"),
    RANK_BY: ("slot", "fill", "span", *_OBJECTS),
}
_PROCESSES_PER = re.compile(rf"ppr:\d+:({'|'.join(_OBJECTS)}|slot)([:,].*)?", re.IGNORECASE)

_PER_NODE = (RANKS_PER_NODE, ONE_RANK_PER_NODE)


def _of_open_mpi(job: MpiJobView) -> list[Launch]:
    """Return the launches whose options are those of Open MPI."""
    return [
        launch
        for launch in job.launches
        if job.is_open_mpi
        and launch.launcher not in (HOROVODRUN, HYDRA)
        and not any(is_option_of_hydra(name) for _, name, _ in launch.options)
    ]


@error(f"Open MPI ends with `the specified policy is not recognized`, or reads another pattern {MPIRUN}")
def unknown_policy(job: MpiJobView) -> Iterator[Found]:
    """A value of `--map-by`, `--rank-by` or `--bind-to` that Open MPI does not have."""
    for launch in _of_open_mpi(job):
        for option, known in _VALUES.items():
            value = launch.value(option) or ""
            first = value.partition(":")[0].lower()
            if not first or is_placeholder(value, capitals=True) or "`" in value or first.startswith("-"):
                continue
            if not first.startswith(known) and not any(one.startswith(first) for one in known):
                yield Found(job.launch_path, f"has {option.written} {value}", f"give one of {', '.join(known)}")
            elif first == "ppr" and not _PROCESSES_PER.fullmatch(value):
                fix = "write ppr:<number>:<node or socket>"
                yield Found(job.launch_path, f"has {option.written} {value}, which has another order", fix)


@error(f"Open MPI starts no rank: more ranks on a node than its slots {MPIRUN}")
def ranks_per_socket_exceed_slots(job: MpiJobView) -> Iterator[Found]:
    """`--map-by ppr:N:socket` with more ranks on the sockets of a node than the worker has slots."""
    types = node_types(job.worker)
    sockets = min((one.sockets or 0 for one in types), default=0)
    for launch in _of_open_mpi(job):
        matched = re.match(r"ppr:(\d{1,4}):(socket|package)", launch.value(MAP_BY) or "")
        if not matched or not job.slots or has_parameter(job, ("oversubscribe", "OVERSUBSCRIBE")):
            continue
        # With fewer ranks none of them is on a node too many.
        of_node = min(int(matched[1]) * sockets, launch.ranks or job.slots + 1)
        if of_node > job.slots:
            problem = f"maps {matched[1]} ranks to each of {sockets} sockets, but a worker has {job.slots} slots"
            yield Found(job.launch_path, problem, f"write --map-by ppr:{job.slots}:node")


@warning(
    "Open MPI binds each to one core then, input pipeline included "
    "([mpirun](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html))"
)
def ranks_bound_to_one_core(job: MpiJobView) -> Iterator[Found]:
    """Ranks with GPUs that are bound to one core each, by an option or as Open MPI's default for one or two ranks."""
    fix = "--bind-to none, or --bind-to socket for several ranks on each socket"
    for launch in _of_open_mpi(job):
        if launch.expands or not job.worker.total(GPU_RESOURCE) or runs_network_test(launch.program):
            continue
        policy = (launch.value(BIND_TO) or "").partition(":")[0]
        several_cores = any("pe=" in word.lower() for word in launch.words) or launch.has("cpus-per-proc")
        if policy in ("core", "hwthread") and not several_cores:
            problem = f"has --bind-to {policy}: each rank has one core, its input pipeline included"
            yield Found(job.launch_path, problem, f"write {fix}")
        elif _left_to_open_mpi(job, launch) and (ranks := _ranks(job, launch)) is not None and ranks <= 2:
            problem = f"{launch.launcher} starts {ranks} ranks without --bind-to, and binds each to one core"
            yield Found(job.launch_path, problem, f"add {fix}")


@warning(
    "Seen with 5.0.11 for two sockets: `--map-by slot` or `ppr` alone binds all ranks of a node to the first, and "
    f"without any option each has one core; 4.1 takes the sockets in turn {MPIRUN}"
)
def ranks_bound_to_far_sockets(job: MpiJobView) -> Iterator[Found]:
    """Ranks on all GPUs of nodes with two sockets, and the binding left to Open MPI 5: half are at the wrong one."""
    gpus = job.worker.total(GPU_RESOURCE)
    if job.slots != gpus or not _has_all_gpus_of_two_sockets(job.worker):
        return
    for launch in _of_open_mpi(job):
        if launch.expands or runs_network_test(launch.program) or spawns_ranks(launch):
            continue
        # Mapped by an object, each rank is bound to the object that it is mapped to.
        by = launch.value(MAP_BY) or ""
        left = _left_to_open_mpi(job, launch) and "socket" not in by and "pe=" not in by.lower()
        if left and is_open_mpi_5(job, launch) and _ranks(job, launch) == job.total_slots:
            problem = "has no --bind-to: Open MPI binds ranks to sockets or cores without regard to their GPU"
            yield Found(job.launch_path, problem, "add --bind-to none")


def _has_all_gpus_of_two_sockets(pods: PodGroup) -> bool:
    """Return whether pods are on nodes with two sockets, and hold all GPUs of a node."""
    types, gpus = node_types(pods), pods.total(GPU_RESOURCE)
    return bool(types) and all(one.sockets == 2 and one.gpus == gpus for one in types)


def _ranks(job: MpiJobView, launch: Launch) -> int | None:
    return launch.ranks if launch.has_option(RANKS, *_PER_NODE) else job.total_slots


def _left_to_open_mpi(job: MpiJobView, launch: Launch) -> bool:
    # Behind an unknown option there may be any.
    bound = launch.unknown_options or launch.has(BIND_TO, *_BINDINGS)
    return not bound and not has_parameter(job, _BINDING_PARAMETERS)
