"""Parameters that several commands have, and the types of their values."""

import math
import re
from collections.abc import Callable
from typing import Any, Final

import click

from training_workloads.cli.completion import complete_jobs, complete_recipes
from training_workloads.names import dns_label, dns_subdomain
from training_workloads.recipes.scripts import LAUNCHERS
from training_workloads.validation import InputError, Problem, check, matches

__all__ = [
    "NUMBER",
    "WHOLE_NUMBER",
    "WholeNumber",
    "context_option",
    "environment_option",
    "files_argument",
    "json_option",
    "launcher_option",
    "name_argument",
    "names_argument",
    "namespace_option",
    "open_network_option",
    "recursive_option",
    "seconds",
    "submitted_argument",
    "volumes_option",
    "whole_number",
]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_ANY = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)

# More than any field of Kubernetes takes; a longer number is a mistake, and Python rejects 4300 digits.
_MOST_DIGITS = 18

_TIME = r"(\d{1,9})([smhd]?)"
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def whole_number(name: str, text: str, sample: int = 2) -> int:
    """Return the whole number in a text; the sample is a usual one, for the message about another text."""
    if not _WHOLE.fullmatch(text):
        raise InputError(Problem(path=(name,), given=text, fix=f"give a whole number, such as {sample}"))
    if len(text) > _MOST_DIGITS:
        raise InputError(Problem(path=(name,), given=text, fix=f"give a number of at most {_MOST_DIGITS} digits"))
    return int(text)


def seconds(name: str, text: str) -> int:
    """Return the seconds in a text such as `90s`, `10m` or `2h`."""
    check(matches(name, text, _TIME, "seconds, or a number with s, m, h or d, such as 10m"))
    count, unit = re.fullmatch(_TIME, text).groups()  # type: ignore[union-attr]
    return int(count) * _UNIT_SECONDS[unit]


class WholeNumber(click.ParamType[int]):
    """A whole number; the sample is a usual one, for the message about another text."""

    name = "number"

    def __init__(self, sample: int = 2) -> None:
        self._sample = sample

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the user's text as a number; a default is one already."""
        return value if isinstance(value, int) else whole_number(_name(param), value, self._sample)


class _Number(click.ParamType[float]):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the user's text as a number; a default is one already."""
        if isinstance(value, int | float):
            return float(value)
        if not _ANY.fullmatch(value):
            raise InputError(Problem(path=(_name(param),), given=value, fix="give a number, such as 2500 or 0.5"))
        if not math.isfinite(number := float(value)):
            raise InputError(Problem(path=(_name(param),), given=value, fix="give a number that is less than 1e308"))
        return number


def _name(parameter: click.Parameter | None) -> str:
    return parameter.name if parameter else "number"


WHOLE_NUMBER: Final = WholeNumber()
#: A number, with or without a fraction.
NUMBER: Final = _Number()


def _check_names(ctx: click.Context, param: click.Parameter, names: Any) -> Any:
    """Reject other texts than names before a request is sent: an unset variable of a script, a path."""
    for name in names if isinstance(names, tuple) else (names,):
        if any(dns_subdomain("name", name)):
            fix = "give the name of a job, as 'trainctl list' shows it"
            raise InputError(Problem(path=("name",), given=name, fix=fix))
    return names


def _check_namespace(ctx: click.Context, param: click.Parameter, namespace: str | None) -> str | None:
    if namespace is not None:
        check(dns_label("namespace", namespace))
    return namespace


def _jobs_argument(name: str, **more: Any) -> Callable[[Any], Any]:
    return click.argument(name, callback=_check_names, shell_complete=complete_jobs, **more)


name_argument: Final = _jobs_argument("name", help="Name of the job.")
names_argument: Final = _jobs_argument("names", metavar="[NAME]...", nargs=-1, help="Names of jobs.")
context_option: Final = click.option("--context", help="Context of the kubeconfig. Default: the current one.")
namespace_option: Final = click.option(
    "--namespace", "-n", help="Namespace of the jobs. Default: the context's.", callback=_check_namespace
)
json_option: Final = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
files_argument: Final = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    help="Manifests, such as dist/jobs/digits.k8s.yaml, or folders; - reads stdin.",
)
submitted_argument: Final = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    help="Manifests, such as dist/jobs/digits.k8s.yaml, or folders; - reads stdin; or one recipe or Python script.",
    shell_complete=complete_recipes,
)
recursive_option: Final = click.option("--recursive", "-R", is_flag=True, help="Read the folders inside a folder too.")
launcher_option: Final = click.option(
    "--launcher",
    metavar="PROGRAM",
    help=f"Starter of the ranks of a script: {' or '.join(LAUNCHERS)}. Default: by its imports.",
)
#: Where a local run reads and writes what a job does in the cluster's file system.
volumes_option: Final = click.option(
    "--volumes", metavar="DIRECTORY", default=".", help="Local folder in place of the shared file system."
)
open_network_option: Final = click.option(
    "--open-network",
    is_flag=True,
    help="Give the ranks of a job, whose servers trust every client, this machine's network.",
)
environment_option: Final = click.option(
    "--environment",
    metavar="DIRECTORY",
    help="Virtual environment of the job. Default: .venv-training, or .venv-torch.",
)
