"""Rules on what the launcher runs: how many ranks `mpirun` or `horovodrun` starts, where, and bound to what."""

from collections.abc import Iterator

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.rule import Found, error, warning
from training_workloads.mpijob.launch_command import DISCOVERY_SCRIPT, HOSTFILE, Launch, commands, program_of
from training_workloads.mpijob.launch_options import (
    BIND_TO,
    CONFIG_FILE,
    DISCOVERY_SCRIPT_OPTION,
    HOSTFILE_OPTION,
    HOSTS,
    ONE_RANK_PER_NODE,
    RANKS,
    RANKS_PER_NODE,
    SLOTS_PER_HOST,
)
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import Path

# Older spellings of --bind-to, options that bind as well, and MCA parameters that do.
_BINDINGS = ("bind-to-core", "bind-to-socket", "bind-to-none", "cpu-set", "cpu-list", "rankfile", "rf")
_BINDING_PARAMETERS = ("hwloc_base_binding_policy", "hwloc_default_binding_policy", "rmaps_rank_file_path")
_HOSTFILE_PARAMETERS = ("prte_default_hostfile",)

_PER_NODE = (RANKS_PER_NODE, ONE_RANK_PER_NODE)

# Programs that start no ranks.
_NO_LAUNCHERS = {"python", "python3", "torchrun", "sleep", "tail", "sshd", "true"}


def _argv(job: MpiJobView) -> Path:
    """Return the path of the launcher's command."""
    return job.launcher.first.argv_path(job.launches[0].launcher if job.launches else "")


def _fixed_size(job: MpiJobView) -> Iterator[tuple[Launch, int, int]]:
    """Yield each launch of a fixed number of ranks, that number, and the slots."""
    total = job.total_slots
    for launch in job.launches:
        ranks = launch.ranks
        # A lone colon separates another program with other ranks.
        if (
            total is not None
            and ranks is not None
            and not launch.has(DISCOVERY_SCRIPT_OPTION)
            and ":" not in launch.words
        ):
            yield launch, ranks, total


@error("Open MPI and horovodrun start no rank: not enough slots")
def np_exceeds_slots(job: MpiJobView) -> Iterator[Found]:
    """More ranks than the hostfile has slots: Open MPI and Horovod do not start."""
    for launch, ranks, total in _fixed_size(job):
        # Other hosts have other slots.
        if launch.has(HOSTS) or launch.value(HOSTFILE_OPTION) not in (None, HOSTFILE):
            continue
        # As an option, a part of --map-by, or a variable of Open MPI.
        if job.is_open_mpi and ranks > total and not _has_parameter(job, ("oversubscribe", "OVERSUBSCRIBE")):
            problem = f"is for {ranks} ranks, but {_slots(job)} are {total} slots, and {launch.launcher} does not start"
            yield Found(_argv(job), problem, f"write -np {total}, or set slotsPerWorker to the GPUs of a worker")


@warning("GPUs are held and not used")
def np_leaves_slots_idle(job: MpiJobView) -> Iterator[Found]:
    """Fewer ranks than slots: the GPUs of the others are held and not used."""
    launched = [(ranks, total) for launch, ranks, total in _fixed_size(job) if not launch.has(*_PER_NODE)]
    # One launch may be a test before the real one.
    if launched and max(ranks for ranks, _ in launched) < launched[0][1]:
        ranks, total = max(launched)
        problem = f"starts {ranks} ranks, but {_slots(job)} are {total} slots; {total - ranks} stay idle"
        yield Found(_argv(job), problem, f"write -np {total}, or fewer workers or slots")


def _slots(job: MpiJobView) -> str:
    workers = (job.worker.replicas or 0) + job.launcher_holds_ranks
    return f"{workers} x {job.slots}"


@error("Horovod cannot hold both bounds")
def elastic_range(job: MpiJobView) -> Iterator[Found]:
    """Elastic Horovod with `-np` outside of `--min-np` and `--max-np`."""
    for launch in job.launches:
        numbers = {"min-np": launch.min_ranks, "np": launch.ranks, "max-np": launch.max_ranks}
        given = {name: number for name, number in numbers.items() if number is not None}
        if launch.is_horovod and list(given.values()) != sorted(given.values()):
            listed = ", ".join(f"{name} {number}" for name, number in given.items())
            yield Found(_argv(job), f"has {listed}, which do not rise", "give min-np <= np <= max-np")


@error("It prints names only, and horovodrun 0.28.1 fails when it adds up slots that are None (`elastic/discovery.py`)")
def elastic_without_slots(job: MpiJobView) -> Iterator[Found]:
    """The operator's discovery script prints no slots, and horovodrun ends with an error when it adds them up."""
    for launch in job.launches:
        script = any(word.endswith(DISCOVERY_SCRIPT) for word in launch.words)
        if launch.is_horovod and script and not launch.has(SLOTS_PER_HOST, CONFIG_FILE):
            problem = f"takes its hosts from {DISCOVERY_SCRIPT}, which prints no slots, and has no --slots-per-host"
            yield Found(_argv(job), problem, f"add --slots-per-host {job.slots or '<GPUs of a worker>'}")


@warning(
    "Open MPI 5 ignores the variables with the operator's hostfile, and all ranks run in the launcher (#842, "
    "kubeflow/trainer#4028); horovodrun uses localhost"
)
def missing_hostfile(job: MpiJobView) -> Iterator[Found]:
    """A launch without hosts.

    The operator sets them in variables of Open MPI 4. Open MPI 5 ignores those (mpi-operator#842, trainer#4028), as
    does horovodrun, and starts every rank in the launcher.
    """
    for launch in job.launches:
        has_hosts = launch.has(HOSTFILE_OPTION, HOSTS, DISCOVERY_SCRIPT_OPTION, CONFIG_FILE) or _has_parameter(
            job, _HOSTFILE_PARAMETERS
        )
        if not has_hosts and not launch.expands and (job.is_open_mpi or launch.is_horovod) and job.role("Worker"):
            which = "horovodrun" if launch.is_horovod else f"{launch.launcher} of Open MPI 5"
            problem = f"has no hostfile, and {which} then starts all ranks in the launcher"
            yield Found(_argv(job), problem, f"add --hostfile {HOSTFILE}, which every version reads")


@warning(
    "Open MPI binds each to one core then, input pipeline included "
    "([mpirun](https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html))"
)
def ranks_bound_to_one_core(job: MpiJobView) -> Iterator[Found]:
    """Open MPI's default for one or two ranks: each is bound to one core, and so is its input pipeline."""
    for launch in job.launches:
        is_explicit = launch.has_option(RANKS, *_PER_NODE)
        ranks = launch.ranks if is_explicit else job.total_slots
        if not job.is_open_mpi or launch.is_horovod or launch.expands or not job.worker.total(GPU_RESOURCE):
            continue
        bound = launch.has(BIND_TO, *_BINDINGS) or _has_parameter(job, _BINDING_PARAMETERS)
        if ranks is not None and ranks <= 2 and not bound:
            problem = f"{launch.launcher} starts {ranks} ranks without --bind-to, and binds each to one core"
            yield Found(_argv(job), problem, "add --bind-to none, or --bind-to socket for several ranks on each socket")


def _has_parameter(job: MpiJobView, parameters: tuple[str, ...]) -> bool:
    """Return whether an MCA parameter is an option, is in the script, or is a variable of the launcher."""
    launcher = job.launcher.first
    return any(parameter in word for word in (*launcher.argv, *launcher.environment) for parameter in parameters)


@warning("Nothing starts ranks on the workers")
def single_process(job: MpiJobView) -> Iterator[Found]:
    """A launcher that runs the training program itself, or nothing: there are no ranks on the workers."""
    argv = job.launcher.first.argv
    started = {program_of(command) for command in commands(argv) or []}
    # A Python program may call horovod.run or mpirun itself.
    hidden = any(name in word for word in argv for name in ("mpi", "horovod"))
    if started and started <= _NO_LAUNCHERS and not hidden and job.role("Worker"):
        problem = f"starts {' and '.join(sorted(started))} in the launcher, and nothing on the workers"
        yield Found(_argv(job), problem, "start the program with mpirun or horovodrun")
