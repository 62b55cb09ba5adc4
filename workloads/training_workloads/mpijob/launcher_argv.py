"""The argv of the launcher: `mpirun` or `horovodrun`, with the image's launcher around it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from training_workloads.mpijob import programs
from training_workloads.mpijob.launch_options import (
    BIND_TO,
    BLACKLIST_COOLDOWN,
    DISCOVERY_SCRIPT_OPTION,
    ELASTIC_TIMEOUT,
    EXPORT,
    GLOO_TIMEOUT,
    HOROVODRUN,
    HOSTFILE_OPTION,
    MAP_BY,
    MAX_RANKS,
    MCA,
    MIN_RANKS,
    NETWORK_INTERFACE,
    RANKS,
    SLOTS_PER_HOST,
    TAG_OUTPUT,
)

__all__ = [
    "DEFAULT_SLOTS",
    "DISCOVERY_SCRIPT",
    "HOSTFILE",
    "START_TIMEOUT_SECONDS",
    "has_launcher",
    "horovodrun_command",
    "launcher_environment",
    "mpirun_command",
    "unwrapped",
    "wrapped",
]

#: The variable by which Open MPI 5 gets the slots of a host.
DEFAULT_SLOTS = "PRTE_MCA_prte_set_default_slots"

#: Where the MPI operator mounts the hostfile in the launcher.
HOSTFILE = "/etc/mpi/hostfile"

#: Where it mounts the script that prints the workers that run now, one name a line, without their slots.
DISCOVERY_SCRIPT = "/etc/mpi/discover_hosts.sh"

# Ranks start at once on every worker of the list, and all of them end if the sshd of one does not answer yet: the
# image's program filters the list.
_DISCOVERY = " ".join((*programs.REACHABLE_HOSTS, DISCOVERY_SCRIPT))

#: How long workers may take: GPU nodes may have to start first, and drivers and images come with them.
START_TIMEOUT_SECONDS = 1800

# The running ranks wait in Gloo for a new one, which imports TensorFlow first. After Horovod's own 30 seconds they all
# end (seen on two cores).
_WAIT_FOR_RANKS_SECONDS = 180

# A worker that failed is retried after about 10 seconds, then 20 and so on up to 100; by default never.
_COOLDOWN_SECONDS = (10, 100)


def launcher_environment(slots: int, ranks: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the launcher's container: its own, and those that it gives to the ranks.

    The operator sets hostfile, slots and names for Open MPI 4 (`OMPI_MCA_orte_…`). Open MPI 5 ignores these, and would
    start all ranks in the launcher without a warning: it has these names for them.

    Args:
        slots: Ranks of a worker whose line in the hostfile has no number.
        ranks: Variables of the ranks.
    """
    open_mpi_5 = {
        "PRTE_MCA_prte_default_hostfile": HOSTFILE,
        DEFAULT_SLOTS: str(slots),
        # Workers have fully qualified names only.
        "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
        # The cluster's DNS may need some seconds to resolve a new worker's name.
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
        # A worker's daemon starts ranks on 16 threads, and may miss that one ends at once: mpirun then waits forever.
        # https://github.com/openpmix/prrte/pull/2713; measured: 19 of 400 runs of two ranks `sh -c echo`.
        "PRTE_MCA_odls_base_max_threads": "0",
    }
    return {**open_mpi_5, **ranks}


def mpirun_command(
    world_size: int, exported: Iterable[str], program: Sequence[str], *, ranks_per_socket: int | None = None
) -> list[str]:
    """Return the argv that starts a fixed number of ranks.

    Args:
        world_size: Ranks of the whole job.
        exported: Names of the launcher's variables that the ranks get.
        program: What each rank runs.
        ranks_per_socket: How many ranks are bound to each CPU socket of a worker. Default: none is bound.
    """
    # ssh sessions do not inherit the image's variables: programs and CUDA libraries are found through these two.
    names = dict.fromkeys(["PATH", "LD_LIBRARY_PATH", *exported])
    return [
        "mpirun",
        *RANKS.words(world_size),
        # Here too, so that no job runs in the launcher alone because its MPI does not know a variable.
        *HOSTFILE_OPTION.words(HOSTFILE),
        *_placement(ranks_per_socket),
        # Each line of the log begins with its rank.
        *TAG_OUTPUT.words(),
        # MPI carries only Horovod's control messages: plain TCP and shared memory, no libfabric or UCX, no verbs.
        *MCA.words("pml", "ob1"),
        *MCA.words("btl", "^openib"),
        # Open MPI 4 reads large messages from the memory of the other rank, and prints "Read -1, expected …" for each
        # where the container runtime's seccomp profile rejects that; Open MPI 5 ignores this name.
        *MCA.words("btl_vader_single_copy_mechanism", "none"),
        *(word for name in names for word in EXPORT.words(name)),
        *program,
    ]


def _placement(ranks_per_socket: int | None) -> list[str]:
    """Return which worker and which of its cores a rank gets; a worker's ranks always have consecutive numbers.

    Without a flag Open MPI binds each of two ranks to one core, which starves the input pipeline.
    """
    if ranks_per_socket is None:
        return [*MAP_BY.words("slot"), *BIND_TO.words("none")]
    # The first half of the ranks, which is the first half of the GPUs, on the first socket, the others on the second.
    # Not `--map-by slot --bind-to socket`: Open MPI 5 would bind them all to the first. A whole socket and not cores
    # for each rank, because the node's daemons leave the sockets with different numbers of cores.
    return [*MAP_BY.words(f"ppr:{ranks_per_socket}:socket"), *BIND_TO.words("socket")]


def wrapped(command: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Return the launch command with the image's launcher around it.

    It waits for the workers itself. The operator can wait too, but it creates the launcher of a job that was suspended
    before its workers (https://github.com/kubeflow/mpi-operator/issues/615), and while it waits nothing has a deadline.

    Args:
        command: What it runs.
        options: Its options and their values: several for one that is repeated; those that are None are omitted.
    """
    words = list(programs.LAUNCHER)
    for option, value in options.items():
        for each in value if isinstance(value, tuple) else (value,):
            words += [] if each is None else [option, str(each)]
    return [*words, HOSTFILE, "--", *command]


def has_launcher(argv: Sequence[str]) -> bool:
    """Return whether an argv is that of the image's launcher with a launch command."""
    return tuple(argv[: len(programs.LAUNCHER)]) == programs.LAUNCHER and "--" in argv


def unwrapped(argv: Sequence[str]) -> list[str]:
    """Return the command that the image's launcher runs; the argv itself without that launcher."""
    return list(argv[argv.index("--") + 1 :] if has_launcher(argv) else argv)


def horovodrun_command(
    slots: int,
    min_workers: int,
    max_workers: int,
    program: Sequence[str],
    *,
    timeout_seconds: int = START_TIMEOUT_SECONDS,
) -> list[str]:
    """Return the argv of an elastic job's launcher; `horovodrun` itself gives the launcher's variables to the ranks.

    Args:
        slots: Ranks of each worker.
        min_workers: Workers with which the job starts, and below which it waits for others.
        max_workers: Workers that it uses at most.
        program: What each rank runs.
        timeout_seconds: How long it waits where fewer workers are left. Default: 1800.
    """
    return [
        HOROVODRUN,
        # Not the number of ranks but the number to wait for: other ranks that are ready by then take part too.
        *RANKS.words(min_workers * slots),
        *MIN_RANKS.words(min_workers * slots),
        *MAX_RANKS.words(max_workers * slots),
        *DISCOVERY_SCRIPT_OPTION.words(_DISCOVERY),
        # The script prints workers without their slots.
        *SLOTS_PER_HOST.words(slots),
        # Otherwise Horovod waits for two workers to find an interface that both have; in a pod it is this one.
        *NETWORK_INTERFACE.words("eth0"),
        *ELASTIC_TIMEOUT.words(timeout_seconds),
        *GLOO_TIMEOUT.words(_WAIT_FOR_RANKS_SECONDS),
        *BLACKLIST_COOLDOWN.words(*_COOLDOWN_SECONDS),
        *program,
    ]
