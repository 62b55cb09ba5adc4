"""A finding: what a rule of the lint found in one place of a manifest; and a rule: a small function with a level."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from training_workloads.validation import Path

__all__ = ["Finding", "Found", "Level", "Rule"]

#: `error`: the job does not work, is rejected, or does something else without a warning; `warning`: it is slow,
#: wasteful or at risk.
Level = Literal["error", "warning"]

_PLAIN_KEY = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")

_Subject = TypeVar("_Subject")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A mistake in a manifest.

    Attributes:
        rule: Id of the rule, such as `np-exceeds-slots`; docs/lint.md explains each.
        level: `error` or `warning`.
        path: Where in the document. A missing field has the path that it would have.
        problem: What is wrong.
        fix: What to write instead.
    """

    rule: str
    level: Level
    path: Path
    problem: str
    fix: str

    @property
    def where(self) -> str:
        """The path as text: `spec.containers[0].limits['nvidia.com/gpu']`."""
        text = ""
        for key in self.path:
            if isinstance(key, int):
                text += f"[{key}]"
            elif _PLAIN_KEY.fullmatch(key):
                text += f".{key}"
            else:
                text += f"[{key!r}]"
        return text.removeprefix(".")

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.problem}; {self.fix} [{self.rule}]"


class Found(NamedTuple):
    """What a rule yields: where, what is wrong, and what to write."""

    path: Path
    problem: str
    fix: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[_Subject]):
    """One rule of the lint.

    Attributes:
        level: Of all its findings.
        check: Yields what is wrong. Its name is the rule's id.
    """

    level: Level
    check: Callable[[_Subject], Iterator[Found]]

    @property
    def id(self) -> str:
        """The id, as the user sees it."""
        return self.check.__name__.replace("_", "-")

    def apply(self, subject: _Subject) -> list[Finding]:
        """Return the findings of the rule."""
        return [
            Finding(rule=self.id, level=self.level, path=path, problem=problem, fix=fix)
            for path, problem, fix in self.check(subject)
        ]
