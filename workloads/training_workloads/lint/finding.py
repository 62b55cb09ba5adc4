"""What a rule of the lint has to say about one place in a manifest."""

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Level", "Path"]

#: `error`: the job does not work, is refused, or silently does something else; `warning`: it is slow, wasteful or at
#: risk.
Level = Literal["error", "warning"]

#: Keys and list positions from the document's root, such as `("spec", "containers", 0)`.
Path = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z_][-A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Something wrong in a manifest.

    Attributes:
        rule: Id of the rule, such as `np-exceeds-slots`; docs/lint.md explains each.
        level: `error` or `warning`.
        path: Where in the document. A field that is missing has the path that it would have.
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
