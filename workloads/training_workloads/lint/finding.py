"""A finding: what a rule of the lint found in one place of a manifest."""

import re
from dataclasses import dataclass
from typing import Literal

from training_workloads.validation import Path

__all__ = ["Finding", "Level"]

#: `error`: the job does not work, is rejected, or does something else without a warning; `warning`: it is slow,
#: wasteful or at risk.
Level = Literal["error", "warning"]

_PLAIN_KEY = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A mistake in a manifest.

    Attributes:
        rule: Id of the rule, such as `np-exceeds-slots`; docs/lint-rules.md explains each.
        level: `error` or `warning`.
        path: Where in the document. A missing field has the path that it would have; a comment has none.
        problem: The mistake, as a clause.
        fix: The correction, in the imperative.
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
        place = f"{self.where}: " if self.path else ""
        return f"{self.level}: {place}{self.problem}; {self.fix} [{self.rule}]"
