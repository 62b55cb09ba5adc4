"""Lists in a message, which may be long."""

from collections.abc import Sequence


def first(items: Sequence[object], shown: int, separator: str = ", ") -> str:
    """Return the first items, and how many more there are."""
    more = [f"and {len(items) - shown:,} more"] if len(items) > shown else []
    return separator.join([*map(str, items[:shown]), *more])
