"""The variables that the containers of a workload get, wherever they are written: `env`, `-x`, or a shell script."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from training_workloads.manifests.pods import Container
from training_workloads.manifests.values import is_placeholder, sequence
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

__all__ = ["Variable", "exported_names", "set_variables"]


class Variable(NamedTuple):
    """One place that gives a variable a value.

    Attributes:
        name: Its name.
        value: Its value, without the quotes of a shell.
        path: Place of the entry in `env`, or of the command or arguments.
        reaches_all: Whether every program of the container gets it; not where a script sets it for one command.
    """

    name: str
    value: str
    path: Path
    reaches_all: bool


_WORD = re.compile(r"([A-Za-z_]\w*)=(.*)")
_COMMENT = re.compile(r"(?m)(^|\s)#.*$")
# `-x "NAME=a b"`, or `NAME="a b"`, `NAME='a b'`, `NAME=a\ b`.
_ASSIGNMENT = re.compile(
    r"(?P<all>(?:-x|export|env)\s+)?"
    r"(?:(?<=\s)(?P<quote>[\"'])(?P<quoted>[A-Za-z_]\w*=[^\"']*)(?P=quote)(?=\s|$)"
    r"|(?<![\w./$-])(?P<name>[A-Za-z_]\w*)=(?P<value>\"[^\"]*\"|'[^']*'|(?:\\.|[^\s;&|)`\"'\\])*))"
)
_EXPORT = re.compile(r"-x\s+([A-Za-z_]\w*)(?![\w=])")
_SHELL_OPTION = re.compile(r"-[a-z]*c")


def set_variables(workload: WorkloadView, names: Collection[str] = ()) -> Iterator[Variable]:
    """Yield each place that gives a variable a known value: placeholders and other sources are left out.

    Args:
        workload: The pods.
        names: The variables. Default: all.
    """
    for container in workload.containers:
        given = (Variable(name, value, path, True) for name, (value, path) in container.environment.items())
        for variable in (*given, *_written(container)):
            known = isinstance(variable.value, str) and not is_placeholder(variable.value)
            if known and (not names or variable.name in names):
                yield variable


def exported_names(container: Container) -> set[str]:
    """Return the variables whose values `mpirun -x NAME` gives to the ranks."""
    return set(_EXPORT.findall(" ".join(container.argv)))


def _written(container: Container) -> Iterator[Variable]:
    before = ""
    for place in ("command", "args"):
        for word in sequence(container.content.get(place)):
            if isinstance(word, str):
                found = _of_word(word, before)
                yield from (Variable(name, value, (*container.path, place), all_) for name, value, all_ in found)
                before = word


def _of_word(word: str, before: str) -> Iterable[tuple[str, str, bool]]:
    """Return the variables that a word of a command sets, as a script or by itself."""
    if _SHELL_OPTION.fullmatch(before) or "\n" in word:
        return _assignments(word)
    if matched := _WORD.fullmatch(word):
        return [(matched[1], matched[2], before in ("-x", "env"))]
    return _assignments(word) if " " in word else ()


@lru_cache(maxsize=64)
def _assignments(script: str) -> tuple[tuple[str, str, bool], ...]:
    """Return the assignments of a script, each once: several rules read the same one."""
    matches = _ASSIGNMENT.finditer(_COMMENT.sub("", script))
    return tuple(dict.fromkeys(_assignment(matched) for matched in matches))


def _assignment(matched: re.Match[str]) -> tuple[str, str, bool]:
    name, _, value = (matched["quoted"] or matched[0].removeprefix(matched["all"] or "")).partition("=")
    plain = value if matched["quoted"] else re.sub(r"\\(.)", r"\1", value.strip("\"'"))
    return name, plain, bool(matched["all"])
