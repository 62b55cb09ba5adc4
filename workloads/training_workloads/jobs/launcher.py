"""The launcher's command line and variables: one `mpirun` for the whole job, each flag with its reason."""

from collections.abc import Iterable, Sequence

from training_workloads.jobs.worker_resources import WorkerResources

__all__ = ["HOSTFILE", "launcher_environment", "mpirun_command", "rank_environment"]

#: Where the MPI operator mounts the hostfile in the launcher.
HOSTFILE = "/etc/mpi/hostfile"

# The operator sets these for Open MPI 4 (OMPI_MCA_orte_…), which Open MPI 5 ignores; these are its names for them.
_OPEN_MPI_5 = {
    # Workers are known by their fully qualified names only.
    "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
    # A worker's name may take some seconds to be known in the cluster's DNS.
    "PRTE_MCA_plm_ssh_args": "-o ConnectionAttempts=10",
}

# A rank that waits this long for the others ends the job, so that it starts again from its checkpoint.
_STALL_SHUTDOWN_SECONDS = 600


def rank_environment(resources: WorkerResources, workers: int) -> dict[str, str]:
    """Variables that every rank gets."""
    environment = {
        # Each rank sizes its pools by its share; without this every rank takes the whole node's vCPUs.
        "TF_NUM_INTRAOP_THREADS": str(resources.cpus_per_rank),
        "TF_NUM_INTEROP_THREADS": "2",
        "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": str(_STALL_SHUTDOWN_SECONDS),
        # The log is the only proof of which network NCCL chose.
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
    }
    if workers > 1:
        # NCCL's bootstrap must not pick the loopback or a bridge; pods see the network as eth0.
        environment["NCCL_SOCKET_IFNAME"] = "^lo,docker,veth"
    if resources.efa_interfaces:
        # NCCL's EFA plugin shall find EFA or nothing. An image without the plugin uses TCP: the log says which it was.
        environment["FI_PROVIDER"] = "efa"
    return environment


def launcher_environment(ranks: dict[str, str]) -> dict[str, str]:
    """Variables of the launcher's container: those that it hands to the ranks, and its own."""
    return {**_OPEN_MPI_5, **ranks}


def mpirun_command(world_size: int, exported: Iterable[str], program: Sequence[str]) -> list[str]:
    """The launcher's argv.

    Args:
        world_size: Ranks of the whole job.
        exported: Names of the variables that the ranks get from the launcher.
        program: What each rank runs.
    """
    # ssh sessions do not inherit the image's variables: programs and CUDA libraries are found through these two.
    names = dict.fromkeys(["PATH", "LD_LIBRARY_PATH", *exported])
    return [
        "mpirun",
        "-np",
        str(world_size),
        # Said explicitly because Open MPI 5 does not read the variable by which the operator says it, and would
        # start every rank on the launcher.
        "--hostfile",
        HOSTFILE,
        # Fill one worker before the next: the ranks of a node have consecutive numbers.
        "--map-by",
        "slot",
        # For two ranks Open MPI binds each to one core by default, which starves the input pipeline.
        "--bind-to",
        "none",
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
