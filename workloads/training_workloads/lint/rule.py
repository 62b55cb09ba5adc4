"""What a rule is: a small function, its level, and the id that it has by its name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from training_workloads.lint.finding import Finding, Level, Path

__all__ = ["Problem", "Rule"]

_Subject = TypeVar("_Subject")


class Problem(NamedTuple):
    """What a rule found: where, what is wrong, and what to write."""

    path: Path
    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[_Subject]):
    """One rule of the lint.

    Attributes:
        level: Of all that it finds.
        check: Finds what is wrong. Its name is the rule's id.
    """

    level: Level
    check: Callable[[_Subject], Iterator[Problem]]

    @property
    def id(self) -> str:
        """The id, as the user sees it."""
        return self.check.__name__.replace("_", "-")

    def apply(self, subject: _Subject) -> list[Finding]:
        """What the rule finds."""
        return [
            Finding(rule=self.id, level=self.level, path=path, problem=problem, fix=fix)
            for path, problem, fix in self.check(subject)
        ]
