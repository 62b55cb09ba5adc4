"""Rules on the comments that suppress findings."""

from collections.abc import Iterator

from training_workloads.lint.ignore_comments import Suppression
from training_workloads.lint.rule import Found, error, warning

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
