"""Rules on environment variables: names that nothing reads, values that are not read, references that stay literal."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from training_workloads.lint.known_variables import KNOWN_VARIABLES, OTHER_VARIABLES
from training_workloads.lint.rule import Found, error, warning
from training_workloads.lint.variables import exported_names, set_variables
from training_workloads.manifests.pods import Container
from training_workloads.manifests.torchrun import torchrun
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.launch_command import script_of

_CLOSE = 0.9


@warning("Nothing reads it; the names are those in the libraries and their documentation (derived)")
def misspelled_variable(workload: WorkloadView) -> Iterator[Found]:
    """A name that is nearly that of a variable of NCCL, libfabric, Horovod, CUDA or Open MPI."""
    for variable in set_variables(workload):
        if meant := _meant(variable.name):
            yield Found(variable.path, f"sets {variable.name}, which nothing reads", f"write {meant}")


@lru_cache(maxsize=1024)
def _meant(name: str) -> str:
    prefix = next((one for one in KNOWN_VARIABLES if name.startswith(one)), "")
    known = KNOWN_VARIABLES.get(prefix, OTHER_VARIABLES)
    return "" if name in known else next(iter(get_close_matches(name, known, n=1, cutoff=_CLOSE)), "")


# Words that a variable's value consists of, in capital letters; a number may stand for a level.
_WORDS = {
    "NCCL_DEBUG": "VERSION WARN INFO ABORT TRACE NONE",
    "NCCL_PROTO": "LL LL128 SIMPLE",
    "NCCL_ALGO": "TREE RING COLLNET COLLNETDIRECT COLLNETCHAIN NVLS NVLSTREE PAT",
    "NCCL_P2P_LEVEL": "LOC NVL PIX PXB PXN P2C PHB SYS",
    "NCCL_NET_GDR_LEVEL": "LOC NVL PIX PXB PXN P2C PHB SYS",
    "FI_LOG_LEVEL": "WARN TRACE INFO DEBUG",
    "OFI_NCCL_PROTOCOL": "SENDRECV RDMA",
    "TORCH_DISTRIBUTED_DEBUG": "OFF INFO DETAIL",
    "HOROVOD_LOG_LEVEL": "TRACE DEBUG INFO WARNING ERROR FATAL",
    "HOROVOD_CONTROLLER": "MPI GLOO",
    "HOROVOD_CPU_OPERATIONS": "MPI GLOO CCL",
}
_LEVELS = ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL", "HOROVOD_LOG_LEVEL")
# A list, which `^` inverts, with other lists for single collectives behind `;` and `:`.
_LISTS = ("NCCL_PROTO", "NCCL_ALGO")

# NCCL reads these as numbers, and a word as 0.
_SWITCH = re.compile(r"NCCL_\w*(ENABLE|DISABLE)")
_NUMBER = re.compile(r"[+-]?(0x[0-9a-fA-F]+|\d+)")


@warning(
    "The value is ignored, or stops the program ([NCCL](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/"
    "env.html), [PyTorch](https://docs.pytorch.org/docs/stable/distributed.html))"
)
def variable_value(workload: WorkloadView) -> Iterator[Found]:
    """A value that a variable of NCCL, libfabric, Horovod or PyTorch does not have."""
    for name, value, path, _ in set_variables(workload):
        if name in _WORDS and not _is_allowed(name, value.strip()):
            problem = f"sets {name}={value}, which is none of its values"
            yield Found(path, problem, f"give one of {_WORDS[name].replace(' ', ', ')}")
        elif _SWITCH.fullmatch(name) and not _NUMBER.fullmatch(value.strip()):
            yield Found(path, f"sets {name}={value}, which NCCL reads as the number 0", "give 1 or 0")


def _is_allowed(name: str, value: str) -> bool:
    allowed = _WORDS[name].split()
    if name in _LISTS:
        lists = (part.rpartition(":")[2] for part in value.split(";"))
        words = [word.strip() for part in lists for word in part.lstrip("^").split(",") if word.strip()]
    else:
        words = [value] if value else []
    return all(word.upper() in allowed or (name in _LEVELS and _NUMBER.fullmatch(word)) for word in words)


# Variables of images that no manifest can extend.
_OF_THE_IMAGE = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "HOME", "LIBRARY_PATH", "CPATH", "MANPATH")
_SHELL_REFERENCE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][-\w.]*)\)")
_DOC = (
    "Kubernetes replaces `$(NAME)` with a variable that stands before it in `env`, and nothing else ([Kubernetes]("
    "https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/))"
)


@warning(_DOC)
def literal_reference(workload: WorkloadView) -> Iterator[Found]:
    """A reference in a value that Kubernetes does not replace, such as `$PATH:/opt/bin`."""
    is_template = _has_placeholders(workload.document)
    for container in (one for pods in workload.groups for one in pods.all_containers):
        names = list(container.environment)
        for number, (name, (value, path)) in enumerate(container.environment.items()):
            if not isinstance(value, str) or not _is_read(name, container, workload):
                continue
            # envsubst replaces it.
            if is_template and _SHELL_REFERENCE.fullmatch(value):
                continue
            if found := _unreplaced(name, value, names, number):
                problem, fix = found
                yield Found(path, f"sets {name}={value}, in which {problem}", fix)


def _unreplaced(name: str, value: str, names: list[str], number: int) -> tuple[str, str] | None:
    """Return the problem of a value with a reference that nothing replaces, and the fix; None for another value.

    Args:
        name: The variable.
        value: Its value.
        names: The variables of its container, in their order.
        number: The variable's place among them.
    """
    found = [one or other for one, other in _SHELL_REFERENCE.findall(value)]
    # Kubernetes does not calculate, and other names may have values in the ranks only.
    if "$((" in value or not {name, *_OF_THE_IMAGE, *names}.issuperset(found):
        return None
    if found:
        fix = f"write $({found[0]})" if found[0] in names[:number] else _WHOLE_VALUE
        return f"no shell replaces ${found[0]}", fix
    late = next((one for one in _REFERENCE.findall(value) if _is_late(one, number, names)), None)
    if late is None:
        return None
    fix = f"write {late} before {name}" if late in names[number + 1 :] else _WHOLE_VALUE
    return f"$({late}) is not replaced: no entry before it sets {late}", fix


def _is_read(name: str, container: Container, workload: WorkloadView) -> bool:
    """Return whether a program certainly reads a variable of a container: each, its shell, or ranks that get it."""
    if name in _OF_THE_IMAGE or name in exported_names(container):
        return True
    # The ranks of an MPIJob get it with -x only.
    if workload.kind != "MPIJob" and (name.startswith(tuple(KNOWN_VARIABLES)) or name in OTHER_VARIABLES):
        return True
    script, _ = script_of(container.argv) or ("", [])
    word = re.escape(name)
    by_shell = re.search(rf"\$(?:{word}\b|\{{{word}\b)", script) and "eval " not in script and "envsubst" not in script
    return bool(by_shell) or any(f"$({name})" in word for word in container.argv)


def _has_placeholders(value: Any) -> bool:
    """Return whether a document has `$NAME` where no shell ever reads it, such as an image."""
    if isinstance(value, Mapping):
        return any(_has_placeholders(one) for key, one in value.items() if key not in ("command", "args", "env"))
    if isinstance(value, list):
        return any(map(_has_placeholders, value))
    return isinstance(value, str) and bool(_SHELL_REFERENCE.search(value))


_WHOLE_VALUE = "write the whole value, or export it in the shell that starts the program"


def _is_late(name: str, number: int, names: list[str]) -> bool:
    """Return whether a reference certainly has no value; others may be those of the operator, or of envFrom."""
    return name not in names[:number] and (name in names[number:] or name in _OF_THE_IMAGE)


_LOCAL = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|::1")


@error("Each pod waits at its own address for ranks that never come (derived)")
def rendezvous_address(workload: WorkloadView) -> Iterator[Found]:
    """Ranks in several pods that meet at the pod's own address."""
    groups = workload.rank_groups
    if sum(pods.replicas or 1 for pods in groups) < 2:
        return
    for name, value, path, _ in set_variables(workload, ("MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT")):
        if _LOCAL.fullmatch(value.rpartition(":")[0] if name == "PET_RDZV_ENDPOINT" else value):
            problem = f"sets {name}={value}, at which each pod finds only itself"
            yield Found(path, problem, _RANK_0)
    for container in (one for pods in groups for one in pods.containers):
        run = torchrun(container.argv)
        if run is None or run.nodes == 1:
            continue
        if "standalone" in run.options:
            problem = "has --standalone, with which each pod is a job by itself"
            yield Found(container.argv_path("--standalone"), problem, "write --master-addr or --rdzv-endpoint instead")
        elif _LOCAL.fullmatch(run.address):
            problem = f"has {run.address} as the address of rank 0, at which each pod finds only itself"
            yield Found(container.argv_path(run.address), problem, _RANK_0)


_RANK_0 = "give the name of the pod with rank 0, or remove it where the operator sets it"


# Variables that the launchers give each process.
_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK")


@error("Each process takes itself for that rank, and they wait for the others (derived)")
def same_rank(workload: WorkloadView) -> Iterator[Found]:
    """A rank's number that all pods of a group, or all ranks of mpirun, get."""
    several = [pods for pods in workload.groups if (pods.replicas or 0) > 1]
    containers = [container.path for pods in several for container in pods.containers]
    for name, value, path, reaches_all in set_variables(workload, _RANKS):
        in_several = any(path[: len(one)] == one for one in containers) and "env" in path
        if value.isdecimal() and reaches_all and (in_several or (workload.kind == "MPIJob" and "env" not in path)):
            problem = f"sets {name}={value} for all of them, and they take themselves for the same rank"
            yield Found(path, problem, "remove it: mpirun, torchrun or the operator numbers the ranks")


_FUSION = "HOROVOD_FUSION_THRESHOLD"
_SMALLEST_FUSION = 2**20


@warning("The unit is bytes ([Horovod](https://horovod.readthedocs.io/en/stable/tensor-fusion_include.html))")
def fusion_threshold(workload: WorkloadView) -> Iterator[Found]:
    """A fusion buffer of Horovod below 1 MiB, such as `64` for 64 MiB."""
    for _, value, path, _ in set_variables(workload, (_FUSION,)):
        if value.isdecimal() and 0 < int(value[:12]) < _SMALLEST_FUSION:
            problem = f"sets {_FUSION}={value}, which is in bytes: hardly any two tensors are sent together"
            yield Found(path, problem, f"write {_FUSION}={64 * 2**20} for 64 MiB")


# Formats of keys: AWS, Hugging Face, GitHub, OpenAI and Anthropic, GitLab, Slack, NVIDIA NGC, private keys.
_KEY = re.compile(
    r"(AKIA|ASIA)[0-9A-Z]{16}|hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,}|sk-[-\w]{20,}"
    r"|glpat-[-\w]{20}|xox[abp]-[-\w]{10,}|nvapi-[-\w]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_SECRET_NAME = re.compile(
    r"(\w+_)?(PASSWORD|PASSWD|SECRET_ACCESS_KEY|SECRET_KEY|SESSION_TOKEN|API_KEY|API_TOKEN|ACCESS_TOKEN|AUTH_TOKEN"
    r"|HUB_TOKEN|HF_TOKEN|GITHUB_TOKEN|PRIVATE_KEY|CLIENT_SECRET)"
)
# Words that stand for a secret, file names, and addresses of one.
_NO_SECRET = re.compile(
    r"(?i)x+|\*+|\.+|dummy.*|example.*|placeholder.*|change-?me.*|.*your.*|[-a-z_]*(token|key|secret|password|here)|none|null"
    r"|true|false|test|/.*|\w+://.*|arn:.*|[a-z_-]*example[-_]?(key)?|insert.*|todo.*|fake.*|(.)\1{5,}"
)
# Shorter ones, and those without digits, are words that a person has chosen for a test.
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\S{20,}")


@warning(
    "Everyone who may read the job can read it ([Kubernetes](https://kubernetes.io/docs/concepts/security/"
    "secrets-good-practices/))"
)
def plain_secret(workload: WorkloadView) -> Iterator[Found]:
    """A password or a key as a variable's value."""
    for name, value, path, _ in set_variables(workload):
        is_named = _SECRET_NAME.fullmatch(name.upper()) and _RANDOM.fullmatch(value)
        if _KEY.search(value) or (is_named and not _NO_SECRET.fullmatch(value)):
            problem = f"has the value of {name}, which everyone who may read the job can read"
            yield Found(path, problem, "put it into a Secret, and refer to it with valueFrom.secretKeyRef")
