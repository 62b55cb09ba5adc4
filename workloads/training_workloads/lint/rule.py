"""A rule of the lint: a small function with a level and its evidence."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar

from training_workloads.lint.finding import Finding, Level
from training_workloads.validation import MISSING, Path, Problem

__all__ = ["Found", "Rule", "error", "found_of", "rules_of", "warning"]

# Longer texts are not shown.
_READABLE = 160

_Subject = TypeVar("_Subject")


class Found(NamedTuple):
    """One finding of a rule: the place, the problem, and the fix."""

    path: Path
    problem: str
    fix: str


def found_of(problem: Problem) -> Found:
    """Return a problem as a finding."""
    words = "is missing" if problem.given is MISSING else f"is {_shown(problem.given)}"
    return Found(problem.path, f"{words}, but {problem.allowed}" if problem.allowed else words, problem.fix)


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case bool() | None:
            # As YAML writes it.
            return json.dumps(value)
    text = repr(value)
    return text if len(text) < _READABLE else "a long text"


_Check = Callable[[_Subject], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Rule(Generic[_Subject]):
    """One rule of the lint.

    Attributes:
        level: The level of all its findings.
        evidence: Why the finding is a mistake, with its source, as Markdown; docs/lint-rules.md shows it.
        check: Yields the findings. Its name is the rule's id, and its docstring's first line what it finds.
    """

    level: Level
    evidence: str
    check: _Check[_Subject]

    @property
    def id(self) -> str:
        """The id, as the user sees it."""
        return self.check.__name__.replace("_", "-")

    @property
    def finds(self) -> str:
        """Its docstring's first line, without the period."""
        return (self.check.__doc__ or "").splitlines()[0].removesuffix(".")

    def apply(self, subject: _Subject) -> list[Finding]:
        """Return the findings of the rule, each once: lines of a script may have the same mistake."""
        found = dict.fromkeys(self.check(subject))
        return [
            Finding(rule=self.id, level=self.level, path=path, problem=problem, fix=fix) for path, problem, fix in found
        ]


def error(evidence: str) -> Callable[[_Check[_Subject]], Rule[_Subject]]:
    """Make a function a rule whose findings are errors.

    Args:
        evidence: Why it is a mistake, with its source, as Markdown.
    """
    return lambda check: Rule("error", evidence, check)


def warning(evidence: str) -> Callable[[_Check[_Subject]], Rule[_Subject]]:
    """Make a function a rule whose findings are warnings.

    Args:
        evidence: Why it is a mistake, with its source, as Markdown.
    """
    return lambda check: Rule("warning", evidence, check)


def rules_of(*modules: ModuleType) -> tuple[Rule[Any], ...]:
    """Return the rules of some modules, in the order in which they are written."""
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Rule))
