"""Facts about a launch command that several rules need: what else sets its options, and what its ranks run."""

from training_workloads.mpijob.launch_command import SHELLS, Launch, program_of
from training_workloads.mpijob.launch_options import MAP_BY
from training_workloads.mpijob.view import MpiJobView

__all__ = ["has_parameter", "is_benchmark", "ranks_per_node", "runs_script", "spawns_ranks", "workers_of"]

# Programs that start a process for each GPU of a node themselves.
_SPAWNERS = {"torchrun", "accelerate", "deepspeed", "composer", "torch.distributed.run", "torch.distributed.launch"}


def has_parameter(job: MpiJobView, parameters: tuple[str, ...]) -> bool:
    """Return whether an MCA parameter is an option, is in the script, or is a variable of the launcher."""
    launcher = job.launcher.first
    return any(parameter in word for word in (*launcher.argv, *launcher.environment) for parameter in parameters)


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
    return any(word in _SPAWNERS or word.startswith(("--nproc_per", "--nproc-per")) for word in launch.program) or (
        program_of(launch.program) in _SPAWNERS
    )


def runs_script(launch: Launch) -> bool:
    """Return whether the ranks run a shell script, which may start a process for each GPU of its node."""
    return program_of(launch.program) in {*SHELLS, ""}


def is_benchmark(launch: Launch) -> bool:
    """Return whether the ranks run a test of NCCL or MPI, which has no input pipeline."""
    return program_of(launch.program).endswith(("_perf", "_perf_mpi")) or program_of(launch.program).startswith("osu_")
