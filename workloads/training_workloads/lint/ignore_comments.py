"""Comments in a manifest that suppress findings: `# trainctl: ignore[np-exceeds-slots] the image oversubscribes`.

Such a comment is on the line of the finding, or alone on a line above it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Suppression", "suppressions"]

_COMMENT = re.compile(r"(?:^|\s)#\s*trainctl:\s*ignore\b(?:\[(?P<rules>[^\]]*)\])?(?P<reason>.*)")
_ONLY_COMMENT = re.compile(r"\s*(#.*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppression:
    """One such comment.

    Attributes:
        line: Its line, from 1.
        covers: The line of the findings that it suppresses.
        rules: The ids in its brackets.
        reason: What is written behind them.
        without_effect: Those of the ids that suppress nothing, each with what to do.
    """

    line: int
    covers: int
    rules: tuple[str, ...]
    reason: str
    without_effect: tuple[tuple[str, str], ...] = ()


def suppressions(text: str) -> Iterator[Suppression]:
    """Yield the comments of a manifest that suppress findings."""
    above: list[tuple[int, re.Match[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _COMMENT.search(line)
        if _ONLY_COMMENT.fullmatch(line):
            above += [(number, found)] if found else []
            continue
        for place, comment in [*above, *([(number, found)] if found else [])]:
            yield _suppression(comment, place, number)
        above = []
    for place, comment in above:
        yield _suppression(comment, place, place)


def _suppression(comment: re.Match[str], line: int, covers: int) -> Suppression:
    named = [name.strip() for name in (comment["rules"] or "").split(",")]
    rules = tuple(name for name in named if name)
    return Suppression(line=line, covers=covers, rules=rules, reason=comment["reason"].strip())
