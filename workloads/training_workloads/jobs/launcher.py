"""The launcher's command line: one `mpirun` or `horovodrun` for the whole job, each flag with its reason."""

from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "DISCOVERY_SCRIPT",
    "HOSTFILE",
    "WAIT_FOR_WORKERS",
    "horovodrun_command",
    "launcher_environment",
    "mpirun_command",
]

#: Where the MPI operator mounts the hostfile in the launcher.
HOSTFILE = "/etc/mpi/hostfile"

#: Where it mounts the script that prints the workers that run at the moment, one name a line, without their slots.
DISCOVERY_SCRIPT = "/etc/mpi/discover_hosts.sh"

#: What comes before a command that needs every worker: it starts when the sshd of each answers. The operator can wait
#: too, but creates the launcher of a job that was suspended before its workers
#: (https://github.com/kubeflow/mpi-operator/issues/615), and while it waits nothing has a deadline.
WAIT_FOR_WORKERS = ("python", "-m", "training.wait_for_workers", HOSTFILE, "--")

# The image's filter of that script: ranks are started at once on every worker that is named, and all of them end if one
# of the workers has no sshd that answers yet.
_DISCOVERY = f"python -m training.reachable_hosts {DISCOVERY_SCRIPT}"

# Nodes with GPUs may have to be started first, and drivers and images come with them.
_WAIT_FOR_WORKERS_SECONDS = 1800

# The ranks that are there wait in Gloo for a new one, which imports TensorFlow first. After Horovod's own 30 seconds
# they all end (seen on two cores).
_WAIT_FOR_RANKS_SECONDS = 180

# A worker that failed is tried again after about 10 seconds, then 20 and so on up to 100; by default never.
_COOLDOWN_SECONDS = ("10", "100")


def launcher_environment(slots: int, ranks: Mapping[str, str]) -> dict[str, str]:
    """Variables of the launcher's container: those that it hands to the ranks, and its own.

    The operator sets hostfile, slots and names for Open MPI 4 (`OMPI_MCA_orte_…`), which Open MPI 5 ignores: it would
    start all ranks in the launcher without a word. These are the names that Open MPI 5 has for them.

    Args:
        slots: Ranks of a worker whose line in the hostfile does not say it.
        ranks: Variables of the ranks.
    """
    open_mpi_5 = {
        "PRTE_MCA_prte_default_hostfile": HOSTFILE,
        "PRTE_MCA_prte_set_default_slots": str(slots),
        # Workers are known by their fully qualified names only.
        "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
        # A worker's name may take some seconds to be known in the cluster's DNS.
        "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
    }
    return {**open_mpi_5, **ranks}


def mpirun_command(
    world_size: int, exported: Iterable[str], program: Sequence[str], *, ranks_per_socket: int | None = None
) -> list[str]:
    """The launcher's argv.

    Args:
        world_size: Ranks of the whole job.
        exported: Names of the variables that the ranks get from the launcher.
        program: What each rank runs.
        ranks_per_socket: How many ranks are bound to each CPU socket of a worker. Default: none is bound.
    """
    # ssh sessions do not inherit the image's variables: programs and CUDA libraries are found through these two.
    names = dict.fromkeys(["PATH", "LD_LIBRARY_PATH", *exported])
    return [
        "mpirun",
        "-np",
        str(world_size),
        # Said here too, so that no job runs in the launcher alone because its MPI does not know a variable.
        "--hostfile",
        HOSTFILE,
        *_placement(ranks_per_socket),
        # Each line of the log says which rank wrote it.
        "--tag-output",
        # MPI carries only Horovod's control messages: plain TCP and shared memory, no libfabric or UCX, no verbs.
        "--mca",
        "pml",
        "ob1",
        "--mca",
        "btl",
        "^openib",
        *(word for name in names for word in ("-x", name)),
        *program,
    ]


def _placement(ranks_per_socket: int | None) -> tuple[str, ...]:
    """Which worker and which of its cores a rank gets; ranks of a worker have consecutive numbers in either case.

    Without a flag Open MPI binds each of two ranks to one core, which starves the input pipeline.
    """
    if ranks_per_socket is None:
        return ("--map-by", "slot", "--bind-to", "none")
    # The first half of the ranks, which is the first half of the GPUs, on the first socket, the others on the second.
    # Not `--map-by slot --bind-to socket`: Open MPI 5 would bind them all to the first. A socket and not cores of its
    # own for each rank, because what the node keeps for its daemons leaves the sockets with different numbers of cores.
    return ("--map-by", f"ppr:{ranks_per_socket}:socket", "--bind-to", "socket")


def horovodrun_command(slots: int, min_workers: int, max_workers: int, program: Sequence[str]) -> list[str]:
    """The argv of an elastic job's launcher; `horovodrun` hands the launcher's variables to the ranks by itself.

    Args:
        slots: Ranks of each worker.
        min_workers: Workers with which the job starts, and below which it waits for others.
        max_workers: Workers that it uses at most.
        program: What each rank runs.
    """
    return [
        "horovodrun",
        # Not the number of ranks but the number to wait for: what else is there by then takes part too.
        "-np",
        str(min_workers * slots),
        "--min-np",
        str(min_workers * slots),
        "--max-np",
        str(max_workers * slots),
        "--host-discovery-script",
        _DISCOVERY,
        # It names workers without their slots.
        "--slots-per-host",
        str(slots),
        # Otherwise Horovod waits for two workers to find an interface that both have; in a pod it is this one.
        "--network-interface",
        "eth0",
        "--elastic-timeout",
        str(_WAIT_FOR_WORKERS_SECONDS),
        "--gloo-timeout-seconds",
        str(_WAIT_FOR_RANKS_SECONDS),
        "--blacklist-cooldown-range",
        *_COOLDOWN_SECONDS,
        *program,
    ]
