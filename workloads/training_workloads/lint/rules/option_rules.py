"""Rules on the options of `mpirun` and `horovodrun`: names, values, and MCA parameters."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from training_workloads.catalog.nodes import EFA_RESOURCE
from training_workloads.lint.launch_facts import misspelled_exports, workers_of
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.sources import MPIRUN
from training_workloads.manifests.values import is_placeholder
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
        if found := _taken_for_program(launch):
            why, fix = found
            yield Found(job.launch_path, f"runs {launch.program[0]!r} as the program: {why}", fix)


def _taken_for_program(launch: Launch) -> tuple[str, str] | None:
    """Return why the first word of the program is not one, and the fix; None where it may be one."""
    program = launch.program
    if not program:
        return None
    word = program[0]
    if _WITHOUT_DASHES.fullmatch(word) and option_of(word, horovod=launch.is_horovod):
        return "an option begins with dashes", f"write --{word}"
    exported = _last_export(launch)
    if exported is not None and "=" not in exported and _is_value(program):
        return "-x takes one word", f"write -x {exported}={word}"
    if _is_between_options(launch):
        fix = "remove it" if exported is None else f"write -x {exported}={word}"
        return "the options behind it are its arguments", fix
    return None


def _last_export(launch: Launch) -> str | None:
    """Return the value of a launch's last option where that is `-x`."""
    if not launch.options:
        return None
    _, name, values = launch.options[-1]
    return values[0] if name in EXPORT.spellings and values else None


def _is_between_options(launch: Launch) -> bool:
    """Return whether options of mpirun stand before and behind the first word of the program."""
    if launch.is_horovod or not launch.options or len(launch.program) < len(("word", "-x", "VALUE")):
        return False
    # Of `--mca name=value` the next word is the value, and the one behind it the program.
    if any(name in MCA.spellings and "=" in "".join(values[:1]) for _, name, values in launch.options):
        return False
    word, option, value = launch.program[:3]
    if word.startswith("$") or "/" in word or program_of(launch.program) in SHELLS or not option.startswith("-"):
        return False
    name = option.lstrip("-")
    if name in EXPORT.spellings and _VARIABLE.fullmatch(value):
        return True
    return name in (*MCA.spellings, *HOSTFILE_OPTION.spellings, *MAP_BY.spellings)


# Values of variables of NCCL and libfabric that are not names of programs.
_VALUE = re.compile(
    r"\d+|\^.*|(eth|ens|eno|enp|ib|bond)\d\S*|efa|lo|INFO|WARN|TRACE|VERSION|(ALL|INIT|NET|ENV)(,[A-Z]+)*"
)


def _is_value(program: Sequence[str]) -> bool:
    """Return whether the first word of a program is a variable's value, and the next one the program."""
    return len(program) > 1 and bool(_VALUE.fullmatch(program[0])) and not program[1].startswith("-")


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
    """MCA parameters that leave MPI without a way between ranks: `btl` without `self` or without a network."""
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


# https://docs.open-mpi.org/en/v4.1.x and v5.0.x, `ompi_info --param all all`.
_COMPONENTS = {
    "pml": ("ob1", "cm", "ucx", "monitoring", "v", "yalla", "bfo"),
    "btl": ("self", "tcp", "sm", "vader", "openib", "uct", "ofi", "usnic", "ugni", "smcuda", "portals4", "template"),
    "mtl": ("ofi", "psm", "psm2", "mxm", "portals4", "ucx"),
}


@error(
    "Open MPI ends where no component of a list exists, and warns of the others ([mca]("
    "https://docs.open-mpi.org/en/v5.0.x/mca.html))"
)
def mpi_component(job: MpiJobView) -> Iterator[Found]:
    """A component of Open MPI whose name is misspelled, such as `tpc`."""
    for launch in _checked(job):
        given = _parameters(launch)
        for parameter, known in _COMPONENTS.items():
            for name in given.get(parameter, "").lstrip("^").split(","):
                close = get_close_matches(name.strip(), known, n=1, cutoff=0.6)
                if name and name.strip() not in known and close and not is_placeholder(name):
                    problem = f"has {parameter} {given[parameter]}, but Open MPI has no component {name.strip()!r}"
                    yield Found(job.launch_path, problem, f"write {close[0]}")


@error("They exclude each other ([TCP](https://docs.open-mpi.org/en/v5.0.x/tuning-apps/networking/tcp.html))")
def interfaces_in_and_out(job: MpiJobView) -> Iterator[Found]:
    """`btl_tcp_if_include` and `btl_tcp_if_exclude` at once."""
    for launch in _checked(job):
        given = _parameters(launch)
        for layer in ("btl", "oob"):
            both = [f"{layer}_tcp_if_{way}" for way in ("include", "exclude")]
            if all(name in given for name in both):
                yield Found(
                    job.launch_path, f"has {both[0]} and {both[1]}, which exclude each other", "keep one of them"
                )


_SHELLS_OF_HOSTS = ("plm_rsh_agent", "orte_rsh_agent", "plm_ssh_agent")


@error(
    "The workers run sshd: version 2 of the operator has no kubexec.sh "
    "([operator](https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go))"
)
def remote_shell(job: MpiJobView) -> Iterator[Found]:
    """A launcher that reaches the workers by another program than ssh."""
    variables = job.launcher.first.environment
    for launch in _checked(job):
        given = _parameters(launch)
        given |= {
            name: str(variables[f"OMPI_MCA_{name}"][0]) for name in _SHELLS_OF_HOSTS if f"OMPI_MCA_{name}" in variables
        }
        for name in _SHELLS_OF_HOSTS:
            agent = given.get(name, "").split(" ")[0].rpartition("/")[2]
            # Where only ssh is installed, `rsh` is another name of it.
            if agent in ("kubexec.sh", "kubectl", "telnet"):
                problem = f"has {name} {given[name]}, but the workers answer to ssh only"
                yield Found(job.launch_path, problem, "remove it")


# Parameters that jobs set (https://docs.open-mpi.org/en/v4.1.x and v5.0.x, `ompi_info --param all all --level 9`).
_PARAMETERS = (
    *(f"{layer}_tcp_if_{way}" for layer in ("btl", "oob") for way in ("include", "exclude")),
    *(f"btl_openib_{name}" for name in ("allow_ib", "if_include", "if_exclude", "warn_no_device_params_found")),
    *("plm_rsh_args", "plm_rsh_agent", "plm_rsh_no_tree_spawn", "plm_rsh_num_concurrent", "plm_ssh_args"),
    *("plm_ssh_agent", "plm_ssh_no_tree_spawn", "plm_ssh_num_concurrent", "plm_base_verbose", "btl_base_verbose"),
    *("pml_base_verbose", "mtl_base_verbose", "orte_keep_fqdn_hostnames", "orte_base_help_aggregate"),
    *("orte_default_hostfile", "orte_tmpdir_base", "orte_startup_timeout", "orte_abort_on_non_zero_status"),
    *("prte_keep_fqdn_hostnames", "prte_default_hostfile", "btl_vader_single_copy_mechanism", "btl_tcp_links"),
    *("btl_sm_single_copy_mechanism", "rmaps_base_oversubscribe", "hwloc_base_binding_policy", "mpi_warn_on_fork"),
    *("rmaps_base_mapping_policy", "rmaps_base_no_oversubscribe", "btl_smcuda_use_cuda_ipc", "orte_output_filename"),
)
_ALIKE = 0.92


@warning(
    "Open MPI ignores a parameter that it does not know, without a message ([mca]("
    "https://docs.open-mpi.org/en/v5.0.x/mca.html))"
)
def mpi_parameter(job: MpiJobView) -> Iterator[Found]:
    """A parameter of Open MPI whose name is misspelled, such as `btl_tcp_if_inlcude`."""
    given = [(job.launch_path, name) for launch in _checked(job) for name in _parameters(launch)]
    variables = job.launcher.first.environment.items()
    given += [(path, name.removeprefix(_MCA)) for name, (_, path) in variables if name.startswith(_MCA)]
    for path, name in given:
        if close := _meant_parameter(name):
            yield Found(path, f"sets {name}, a parameter that Open MPI does not have, and ignores", f"write {close}")


_MCA = "OMPI_MCA_"


def _meant_parameter(name: str) -> str:
    if name in ("blt", "bt1", "tbl", "pm1", "pmll", "btll"):
        return "pml" if "m" in name else "btl"
    close = get_close_matches(name, _PARAMETERS, n=1, cutoff=_ALIKE)
    # PMIx and PRRTE have the same parameters with other first letters.
    is_of_another = name.startswith(_OTHER_PREFIXES) and close and name.partition("_")[0] != close[0].partition("_")[0]
    return close[0] if close and name not in _PARAMETERS and not is_of_another else ""


_OTHER_PREFIXES = ("ptl_", "prte_", "orte_", "btl_", "mtl_", "oob_", "ompi_", "opal_", "pmix_", "coll_", "odls_")
