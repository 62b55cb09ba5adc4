"""Rules on how many ranks `mpirun` or `horovodrun` starts."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import PurePosixPath

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.lint.launch_facts import (
    has_parameter,
    ranks_per_node,
    runs_script,
    spawns_ranks,
    workers_of,
)
from training_workloads.lint.purpose import runs_network_test
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import MPIRUN, OPERATOR
from training_workloads.manifests.values import is_placeholder
from training_workloads.mpijob.launch_command import LAUNCHERS, Launch, commands, program_of, script_of, shell_words
from training_workloads.mpijob.launch_options import (
    CONFIG_FILE,
    DISCOVERY_SCRIPT_OPTION,
    HOSTFILE_OPTION,
    HOSTS,
    MAP_BY,
    ONE_RANK_PER_NODE,
    RANKS,
    RANKS_PER_NODE,
)
from training_workloads.mpijob.launcher_argv import HOSTFILE
from training_workloads.mpijob.view import MpiJobView

# Programs that start no ranks.
_NO_LAUNCHERS = {"python", "python3", "torchrun", "sleep", "tail", "sshd", "true"}

# A launcher that waits is one for a user, who starts mpirun in it.
_WAITING = {"sleep", "tail", "true"}

_PER_NODE = (RANKS_PER_NODE, ONE_RANK_PER_NODE)

# As an option, a part of --map-by, or a variable of Open MPI.
_MORE_THAN_SLOTS = ("oversubscribe", "OVERSUBSCRIBE")


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


@error(f"Open MPI and horovodrun start no rank: not enough slots {MPIRUN}")
def np_exceeds_slots(job: MpiJobView) -> Iterator[Found]:
    """More ranks than the hostfile has slots: Open MPI and Horovod do not start."""
    if not job.is_open_mpi or has_parameter(job, _MORE_THAN_SLOTS):
        return
    gpus = job.worker.total(GPU_RESOURCE)
    for launch, ranks, total in _fixed_size(job):
        # Other hosts have other slots.
        if launch.has(HOSTS) or launch.value(HOSTFILE_OPTION) not in (None, HOSTFILE) or ranks <= total:
            continue
        problem = f"is for {ranks} ranks, but {_slots(job)} are {total} slots, and {launch.launcher} does not start"
        if gpus != job.slots and ranks == gpus * workers_of(job):
            # One rank for each GPU: the slots are wrong.
            given = "is missing, and its default is 1" if job.spec.get("slotsPerWorker") is None else f"is {job.slots}"
            problem = f"{given}: {ranks} ranks on {_slots(job)} slots, and {launch.launcher} does not start"
            yield Found(("spec", "slotsPerWorker"), problem, f"write slotsPerWorker: {gpus}, one rank for each GPU")
        else:
            yield Found(job.launch_path, problem, f"write -np {total}, or set slotsPerWorker to the ranks of a worker")


@error(
    f"Open MPI starts no rank: `more processes than the ppr for this topology can support` (seen with 5.0.11) {MPIRUN}"
)
def np_exceeds_ranks_per_node(job: MpiJobView) -> Iterator[Found]:
    """More ranks than `-N` or `--map-by ppr:N:node` allows on all workers, or more of them on a node than its slots."""
    workers, slots = workers_of(job), job.slots or 0
    if not job.is_open_mpi or not workers or has_parameter(job, _MORE_THAN_SLOTS):
        return
    for launch in job.launches:
        each, ranks = ranks_per_node(launch), launch.ranks
        if each is None or (ranks or 0) > slots * workers or launch.has(HOSTS):
            continue
        if ranks is not None and ranks > each * workers:
            problem = f"is for {ranks} ranks, but {each} on each of {workers} workers are {each * workers}"
            yield Found(job.launch_path, problem, f"map {-(-ranks // workers)} ranks to each node")
        elif each > slots:
            problem = f"maps {each} ranks to each node, but a worker has {slots} slots"
            yield Found(job.launch_path, problem, f"map {slots} ranks to each node")


@warning("GPUs are held and not used (derived)")
def np_leaves_slots_idle(job: MpiJobView) -> Iterator[Found]:
    """Fewer ranks than slots: the GPUs of the others are held and not used."""
    gpus = job.worker.total(GPU_RESOURCE)
    # Ranks on CPUs may have threads on the others.
    if not gpus:
        return
    # Ranks on a launcher without GPUs are the mistake of another rule.
    if job.launcher_holds_ranks and not job.launcher.total(GPU_RESOURCE):
        return
    # Slots beyond the GPUs hold nothing.
    most = gpus * workers_of(job)
    launched = [
        (ranks, total)
        for launch, ranks, total in _fixed_size(job)
        if ranks and ranks < most and _starts_every_rank(job, launch)
    ]
    # One launch may be a test before the real one.
    if launched and max(ranks for ranks, _ in launched) < launched[0][1]:
        ranks, total = max(launched)
        problem = f"starts {ranks} ranks, but {_slots(job)} are {total} slots; {total - ranks} stay idle"
        yield Found(job.launch_path, problem, f"write -np {total}, or fewer workers or slots")


def _starts_every_rank(job: MpiJobView, launch: Launch) -> bool:
    """Return whether the ranks of a launch certainly start no other ranks, and do more than show where they run."""
    if _may_start_others(job, launch) or program_of(launch.program) in _SHOWING:
        return False
    # One process for each node may start the others.
    may_start = spawns_ranks(launch) or runs_script(launch) or _is_one_per_node(launch)
    return launch.ranks != workers_of(job) or not may_start


# Programs that show where they run.
_SHOWING = {"hostname", "nvidia-smi", "date", "env", "printenv", "uptime", "ls"}


def _is_one_per_node(launch: Launch) -> bool:
    return bool(ranks_per_node(launch)) or launch.has("bynode") or (launch.value(MAP_BY) or "").startswith("node")


def _may_start_others(job: MpiJobView, launch: Launch) -> bool:
    """Return whether one process of a node may use the GPUs of the others: by its options, or as a script."""
    if not launch.has(*_PER_NODE):
        return False
    several = (ranks_per_node(launch) or 1) > 1 and job.worker.total(GPU_RESOURCE) == job.slots
    return not several or spawns_ranks(launch) or runs_script(launch) or runs_network_test(launch.program)


def _slots(job: MpiJobView) -> str:
    return f"{workers_of(job)} x {job.slots}"


@error("torchrun and the like start their processes once for each rank of mpirun (derived)")
def ranks_start_ranks(job: MpiJobView) -> Iterator[Found]:
    """One rank for each GPU, and each starts a process for each GPU again."""
    workers = workers_of(job)
    for launch in job.launches:
        each = next((found[1] for word in _pairs(launch) if (found := _PROCESSES.fullmatch(word))), "1")
        if workers and (launch.ranks or 0) > workers and int(each) > 1:
            problem = f"starts {launch.ranks} ranks on {workers} workers, each of which starts {each} processes"
            yield Found(job.launch_path, problem, f"write -np {workers} -N 1, or start the program without torchrun")


# `--nproc-per-node=8`, or with the value as the next word.
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node[= ](\d{1,4})")


def _pairs(launch: Launch) -> Iterator[str]:
    yield from launch.program
    yield from (" ".join(pair) for pair in pairwise(launch.program))


@warning(f"Seen with Open MPI 5.0.11: it starts one rank for each slot for 0, and takes other words as 0 {MPIRUN}")
def np_is_no_number(job: MpiJobView) -> Iterator[Found]:
    """A number of ranks that is 0 or no number."""
    for launch in job.launches:
        value = launch.value(RANKS)
        if value is None or is_placeholder(value, capitals=True) or "`" in value or value.startswith("-"):
            continue
        if not value.isdecimal() or not int(value):
            yield Found(job.launch_path, f"has {value!r} as the number of ranks", _right_number(job))


def _right_number(job: MpiJobView) -> str:
    return f"write -np {job.total_slots}" if job.total_slots else "write the number of ranks"


# In the name of a program that may start others on the workers.
_STARTS_OTHERS = re.compile(
    r"mpi|horovod|deepspeed|launch|run_|run\.|submit|start|master|driver|\bray\b|dask|spark|colossal|pdsh|ssh\b"
)
# A Python program that trains by itself; another may start the ranks of a framework, such as `deepy.py train.py`.
_TRAINS = re.compile(r"\S*(train|main|fine_?tun|mnist|cifar|imagenet|bench)\S*", re.IGNORECASE)


@warning("Nothing starts ranks on the workers (derived)")
def single_process(job: MpiJobView) -> Iterator[Found]:
    """A launcher that runs the training program itself, or nothing: there are no ranks on the workers."""
    argv = job.launcher.first.argv
    started = {program_of(command) for command in commands(argv) or []}
    # A Python program may call horovod.run or mpirun itself.
    hidden = any(_STARTS_OTHERS.search(word) for word in argv)
    trains = "torchrun" in started or any(_trains(command) for command in commands(argv) or [])
    if not trains or hidden or not job.role("Worker"):
        return
    if started <= _NO_LAUNCHERS and not started <= _WAITING:
        problem = f"starts {' and '.join(sorted(started))} in the launcher, and nothing on the workers"
        yield Found(job.launch_path, problem, "start the program with mpirun or horovodrun")


def _trains(command: Sequence[str]) -> bool:
    """Return whether the first word after Python's options names a program that trains."""
    words = [word for word in command[1:] if not word.startswith("-")]
    return bool(words and _TRAINS.fullmatch(words[0]))


@warning(f"The operator takes the launcher's exit code: 0 is a job that succeeded {OPERATOR}")
def exit_code_lost(job: MpiJobView) -> Iterator[Found]:
    """A script that ends with another exit code than its launch: a job that failed counts as succeeded."""
    script, _ = script_of(job.launcher.first.argv) or ("", [])
    if not job.launches or "<<" in script or _KEEPS_CODE.search(script):
        return
    before, operator, following = _around_last_launch(shell_words(script) or ())
    if operator == "|" and following in _PASSES_ON and not has_parameter(job, _PIPE_STATES):
        problem = f"has {following} behind the launch, whose exit code is lost"
        yield Found(job.launch_path, problem, "begin with bash and set -o pipefail")
    elif operator == "||" and following in ("true", ":", "echo"):
        problem = f"has || {following} behind the launch, and a job that fails counts as succeeded"
        yield Found(job.launch_path, problem, "remove it")
    elif operator and not operator.strip(";\n") and not _is_condition(before) and (last := _last_program(job)):
        problem = f"ends with {last}, whose exit code is the job's: one that fails counts as succeeded"
        yield Found(job.launch_path, problem, "begin the script with set -e")


def _around_last_launch(words: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """Return the words before the last launch of a script, the operator behind it, and the next word; empty: none."""
    starts = [n for n, word in enumerate(words) if PurePosixPath(word).name in LAUNCHERS]
    if not starts:
        return (), "", ""
    launch = words[starts[-1] :]
    end = next((n for n, word in enumerate(launch) if _is_operator(word)), len(launch))
    operator, following = (*launch[end : end + 2], "", "")[:2]
    return words[: starts[-1]], operator, following


def _is_operator(word: str) -> bool:
    """Return whether a word of a script is one that ends a command."""
    return bool(word) and not word.strip(";&|\n")


_PIPE_STATES = ("pipefail", "PIPESTATUS")
# Programs that copy their input and succeed; others, such as grep, judge it.
_PASSES_ON = {"tee", "cat", "ts", "sed", "awk", "head", "tail", "sort"}


def _is_condition(before: tuple[str, ...]) -> bool:
    """Return whether a command is the condition of a loop or a branch, by the words before it."""
    begin = max((n + 1 for n, word in enumerate(before) if _is_operator(word)), default=0)
    return any(word in ("if", "elif", "while", "until", "!") for word in before[begin:])


# Programs that succeed whatever the launch did.
_HARMLESS = {
    *"echo true : sleep date printf touch ls cat sync tail hostname aws gsutil s5cmd rclone rsync".split(),
    "exit 0",
}
_HARMLESS |= set("cp mv rm tar mkdir chmod chown du df".split())
_STAYS = re.compile(r"sleep (inf|infinity|\d{4,}|\d+[hd])|tail (-\w+ )*-[a-zA-Z]*[fF].*|tail --follow.*|cat")
_KEEPS_CODE = re.compile(r"\$\?|PIPESTATUS|\btrap\b|set -\w*e|-o errexit|\bwait\b|\b(exit|return)\b(?!\s+0\b)")


def _last_program(job: MpiJobView) -> str:
    """Return the harmless program with which the script ends; empty where it keeps the launch's exit code."""
    argv = job.launcher.first.argv
    last = (commands(argv) or [[]])[-1]
    stops_at_errors = any(re.fullmatch(r"-\w*e\w*", word) for word in argv[:3])
    # A pod that stays for a look at it does not end, and has no exit code.
    if stops_at_errors or _STAYS.fullmatch(" ".join(last)):
        return ""
    name = "exit 0" if last == ["exit", "0"] else program_of(last)
    return name if name in _HARMLESS else ""


@error(f"mpirun ends with `no executable could be found` or similar: nothing is left to start {MPIRUN}")
def launch_without_program(job: MpiJobView) -> Iterator[Found]:
    """A launch that ends with its options, such as where a line has lost its backslash."""
    for launch in job.launches:
        asks = launch.has("help", "h", "version", "V", "v", "check-build", "cb", "app", CONFIG_FILE)
        unclear = launch.unknown_options or any("$" in word for word in launch.words)
        if not launch.program and not asks and not unclear:
            problem = f"ends with {launch.words[-1]!r}: {launch.launcher} has no program to start"
            yield Found(
                job.launch_path, problem, "write the program behind the options, or continue the line with a \\"
            )


@error("The container ends: `executable file not found in $PATH` (derived)")
def misspelled_launcher(job: MpiJobView) -> Iterator[Found]:
    """A program with almost the name of mpirun, mpiexec or horovodrun."""
    for command in commands(job.launcher.first.argv) or []:
        name = program_of(command)
        # `mpirun.openmpi`, `mpirun_rsh`.
        if name in LAUNCHERS or name.startswith(_LAUNCHERS) or len(name) < _SHORTEST:
            continue
        if close := get_close_matches(name, _LAUNCHERS, n=1, cutoff=0.85):
            yield Found(job.launch_path, f"starts {name!r}, which is no program", f"write {close[0]}")


_LAUNCHERS = ("mpirun", "mpiexec", "horovodrun")
_SHORTEST = 5
