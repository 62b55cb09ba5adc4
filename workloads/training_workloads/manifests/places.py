"""Places in a document by a pattern, such as `spec.containers[].ports[].name`."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from training_workloads.validation import Path

__all__ = ["CONTAINERS", "Place", "places"]

#: Every container of a pod template, in a pattern.
CONTAINERS = "spec.initContainers|containers[]"


class Place(NamedTuple):
    """A value of a document, and where it is."""

    path: Path
    value: Any


@cache
def _steps(pattern: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    steps = []
    for step in pattern.split("."):
        name = step.removesuffix("[]").removesuffix("{}")
        steps.append((tuple(name.split("|")), step[len(name) :]))
    return tuple(steps)


def places(root: Any, pattern: str, path: Path = ()) -> Iterator[Place]:
    """Yield each place that exists and has a value.

    Args:
        root: The document, or a part of it.
        pattern: Fields with dots between them: `a|b` is each of some fields, `a[]` each item of a list, `a{}` each
            value of a mapping.
        path: The path of the root.
    """
    found = [Place(path, root)]
    for names, items in _steps(pattern):
        found = [inner for place in found for name in names for inner in _inside(place, name, items)]
    yield from found


def _inside(place: Place, name: str, items: str) -> Iterator[Place]:
    value = place.value.get(name) if isinstance(place.value, Mapping) else None
    path = (*place.path, name)
    if items == "[]" and isinstance(value, list):
        yield from (Place((*path, number), item) for number, item in enumerate(value) if item is not None)
    elif items == "{}" and isinstance(value, Mapping):
        yield from (Place((*path, key), item) for key, item in value.items() if isinstance(key, str))
    elif not items and value is not None:
        yield Place(path, value)
