"""Rules on the options of `mpirun` and `horovodrun`: names, values, and MCA parameters."""

import re
from collections.abc import Iterator

from training_workloads.catalog.nodes import EFA_RESOURCE
from training_workloads.lint.launch_facts import misspelled_exports, workers_of
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import MPIRUN
from training_workloads.mpijob.launch_command import SHELLS, Launch, program_of
from training_workloads.mpijob.launch_options import (
    EXPORT,
    HOSTFILE_OPTION,
    MAP_BY,
    MCA,
    is_option_of_hydra,
    option_of,
    options_like,
)
from training_workloads.mpijob.view import MpiJobView

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*(=.*)?")

# `timeout` and `env` are programs too.
_WITHOUT_DASHES = re.compile(r"np|mca|hostfile|\w+(-\w+)+")

# Components of the BTL that stay inside of a node.
_INSIDE = {"self", "sm", "vader"}

# Those that need InfiniBand or a Cray.
_OTHER_NETWORKS = {"openib", "uct", "ugni", "smcuda"}


def _checked(job: MpiJobView) -> list[Launch]:
    """Return the launches whose table of options is that of their launcher."""
    return [launch for launch in job.launches if launch.is_horovod or job.is_open_mpi]


@error(f"Both launchers end with an error: `An unrecognized option was included` (seen with Open MPI 5.0.11) {MPIRUN}")
def unknown_option(job: MpiJobView) -> Iterator[Found]:
    """An option that the launcher does not have: misspelled, or one of another launcher."""
    for launch in _checked(job):
        for position, name, _ in launch.options:
            written = launch.words[position].partition("=")[0]
            # A blank inside is the mistake of another rule.
            if option_of(name, horovod=launch.is_horovod) or " " in written or "$" in written:
                continue
            other = "mpirun" if launch.is_horovod else "horovodrun"
            like = options_like(name, horovod=launch.is_horovod)
            if option_of(name, horovod=not launch.is_horovod) and not is_option_of_hydra(name):
                problem = f"has {written}, an option of {other}, with which {launch.launcher} ends"
                through = ", or give it in --mpi-args" if launch.is_horovod else ""
                yield Found(job.launch_path, problem, f"remove it{through}")
            elif like and not (launch.is_horovod and like[0].startswith(name)):
                dashes = "-" if len(like[0]) < len("np.") else "--"
                problem = f"has {written}, which {launch.launcher} does not know, and ends"
                yield Found(job.launch_path, problem, f"did you mean {dashes}{like[0]}?")


@error(f"The launcher takes the next option as the value, and what follows as the program {MPIRUN}")
def option_without_value(job: MpiJobView) -> Iterator[Found]:
    """An option with another option in the place of its value."""
    for launch in _checked(job):
        for position, name, values in launch.options:
            option = option_of(name, horovod=launch.is_horovod)
            # `--mca name=value` is the mistake of another rule.
            with_equals = "=" in launch.words[position] or (name in MCA.spellings and "=" in "".join(values[:1]))
            if option is None or with_equals:
                continue
            taken = [word for word in values if _is_option(word, launch)]
            if taken or len(values) < option.values:
                instead = f"{taken[0]} is taken for it" if taken else "the command ends there"
                written = launch.words[position]
                given = f"{written} {values[0]}" if len(values) > 1 and values[0] not in taken else written
                yield Found(job.launch_path, f"has {given} without a value: {instead}", "add the value")


def _is_option(word: str, launch: Launch) -> bool:
    name = word.lstrip("-").partition("=")[0]
    return word.startswith("-") and len(name) > 1 and option_of(name, horovod=launch.is_horovod) is not None


@error(f"mpirun takes the first word that is no option as the program {MPIRUN}")
def option_behind_program(job: MpiJobView) -> Iterator[Found]:
    """A word between the options that is taken for the program, such as the value in `-x NAME value`."""
    for launch in _checked(job):
        program = launch.program
        if program and _WITHOUT_DASHES.fullmatch(program[0]) and option_of(program[0], horovod=launch.is_horovod):
            problem = f"runs {program[0]!r} as the program: an option begins with dashes"
            yield Found(job.launch_path, problem, f"write --{program[0]}")
            continue
        if len(program) < len(("word", "-x", "VALUE")) or program[0].startswith("$") or launch.is_horovod:
            continue
        name = program[1].lstrip("-")
        exported = name in EXPORT.spellings and _VARIABLE.fullmatch(program[2])
        is_launchers = program[1].startswith("-") and (
            exported or name in (*MCA.spellings, *HOSTFILE_OPTION.spellings, *MAP_BY.spellings)
        )
        last = launch.options[-1] if launch.options else None
        if is_launchers and last and program_of(program) not in SHELLS and "/" not in program[0]:
            problem = f"runs {program[0]!r} as the program: the options behind it are its arguments"
            fix = f"write -x {last[2][0]}={program[0]}" if last[1] in EXPORT.spellings else "remove it"
            yield Found(job.launch_path, problem, fix)


@error(f"Open MPI reads a parameter and its value as two words (seen with 5.0.11) {MPIRUN}")
def parameter_with_equals(job: MpiJobView) -> Iterator[Found]:
    """`--mca name=value`, of which Open MPI takes the next word as the value."""
    for launch in _checked(job):
        for position, name, values in launch.options:
            if name in MCA.spellings and values and "=" in values[0] and "=" not in launch.words[position]:
                parameter, _, value = values[0].partition("=")
                problem = f"has {launch.words[position]} {values[0]}: Open MPI reads two words, the name and the value"
                yield Found(job.launch_path, problem, f"write {launch.words[position]} {parameter} {value}")


@warning(
    f"ssh starts the ranks; mpirun warns `could not find environment variable` and starts them without it {MPIRUN}"
)
def misspelled_export(job: MpiJobView) -> Iterator[Found]:
    """`-x` with a name that is not set, beside a variable of the launcher with almost that name."""
    for name, meant in misspelled_exports(job).items():
        problem = f"has -x {name}, which is not set; the launcher's variable is {meant}"
        yield Found(job.launch_path, problem, f"write -x {meant}")


def _parameters(launch: Launch) -> dict[str, str]:
    return {values[0]: values[1] for _, name, values in launch.options if name in MCA.spellings and len(values) > 1}


@error(
    "A list of BTL components replaces the default ones ([mca](https://docs.open-mpi.org/en/v5.0.x/mca.html)): `self` "
    "carries a rank's messages to itself, `tcp` or `ofi` those between nodes"
)
def no_mpi_transport(job: MpiJobView) -> Iterator[Found]:
    """MCA parameters that leave MPI without a way between ranks: `btl` without `self` or a network, or UCX on EFA."""
    several = workers_of(job) > 1
    on_efa = job.worker.total(EFA_RESOURCE) > 0
    for launch in _checked(job):
        given = _parameters(launch)
        transport, pml = given.get("btl", ""), given.get("pml", "ob1")
        components = set(transport.split(","))
        if transport and not transport.startswith("^") and "$" not in transport and pml == "ob1":
            if "self" not in components:
                yield Found(job.launch_path, f"has btl {transport} without self", f"write {transport},self")
            elif several and components <= _INSIDE | _OTHER_NETWORKS and (on_efa or not components & _OTHER_NETWORKS):
                problem = f"has btl {transport}, and no rank reaches one on another node"
                yield Found(job.launch_path, problem, "write btl tcp,self")
        elif pml == "ucx" and on_efa:
            yield Found(job.launch_path, "has pml ucx, which does not know EFA", "write pml ob1, and btl tcp,self")
