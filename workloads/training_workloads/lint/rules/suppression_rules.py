"""Comments in a manifest that suppress findings, `# trainctl: ignore[np-exceeds-slots] the image oversubscribes`.

Such a comment is on the line of the finding, or alone on a line above it. And the rules on these comments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from training_workloads.lint.rule import Found, error, warning

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
        reason: The text behind them.
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


_EXAMPLE = "# trainctl: ignore[rule-id] reason"


@error("It does not suppress anything: a later reader cannot know whether it is still right (derived)")
def suppression_without_reason(comment: Suppression) -> Iterator[Found]:
    """A comment that names no rule, or does not say why the finding is suppressed."""
    if not comment.rules:
        yield Found((), "the comment names no rule, and suppresses nothing", f"write {_EXAMPLE}")
    elif not comment.reason:
        problem = "the comment gives no reason, and suppresses nothing"
        yield Found((), problem, f"write # trainctl: ignore[{', '.join(comment.rules)}] and the reason")


@warning("The mistake is gone, or the comment is at another line (derived)")
def unused_suppression(comment: Suppression) -> Iterator[Found]:
    """A comment that suppresses a finding that is not there."""
    for rule, fix in comment.without_effect:
        yield Found((), f"the comment suppresses {rule}, which finds nothing here", fix)
