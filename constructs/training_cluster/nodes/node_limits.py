"""The limits of the number of nodes in a group, and the rule that compares them."""

from typing import Protocol

from training_workloads.validation import Problem, Problems

__all__ = ["NodeLimits", "min_size_is_at_most_max_size"]


class NodeLimits(Protocol):
    """The values of a group of nodes that its autoscaler keeps.

    Attributes:
        min_size: Minimum number of nodes.
        max_size: Maximum number of nodes; None where the default follows the other values.
    """

    min_size: int
    max_size: int | None


def min_size_is_at_most_max_size(spec: NodeLimits) -> Problems:
    """Reject limits without anything between them, as EKS does."""
    if spec.max_size is not None and spec.min_size > spec.max_size:
        yield Problem(
            path=("min_size",),
            given=spec.min_size,
            allowed=f"max_size is {spec.max_size}",
            fix="lower the one or raise the other",
            related=(("max_size",),),
        )
