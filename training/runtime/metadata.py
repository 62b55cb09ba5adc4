"""The metadata of a checkpoint: a value of another kind than the programs write is found before anything reads it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .position import Position


def is_known(written: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Return whether a program of this project may have written it.

    Args:
        written: The metadata.
        names: Names that the program reads, besides those that every program reads.
    """
    needed = {"settings", "world_size", "names", *names}
    return needed <= written.keys() and all(_KINDS[name](written[name]) for name in _KINDS if name in written)


def _is_whole(value: object) -> bool:
    # JSON's true would count as 1.
    return type(value) is int and value >= 0


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _is_mapping(value: object, kind: Callable[[object], bool] = lambda _: True) -> bool:
    return isinstance(value, Mapping) and all(map(kind, value.values()))


def _is_list(value: object, kind: Callable[[object], bool] = lambda _: True) -> bool:
    return isinstance(value, list) and all(map(kind, value))


def _is_position(value: Any) -> bool:
    try:
        Position.from_json(value)
    except ValueError:
        return False
    return True


def _are_results(value: Any) -> bool:
    counted = ("wall_seconds", "training_seconds", "trained_images")
    return (
        _is_mapping(value)
        and all(_is_number(value.get(name, 0)) for name in counted)
        and _is_list(value.get("history", []))
    )


def _are_sums(value: Any) -> bool:
    return _is_mapping(value, _is_number) and "weight" in value


def _are_skipped(value: Any) -> bool:
    return _is_mapping(value, lambda numbers: _is_list(numbers, _is_whole)) and {"train", "validation"} <= value.keys()


_KINDS: dict[str, Callable[[Any], bool]] = {
    "settings": _is_mapping,
    "world_size": _is_whole,
    "position": _is_position,
    "results": _are_results,
    "epoch_losses": _are_sums,
    "names": lambda value: _is_list(value, lambda entry: isinstance(entry, str)),
    "of_ranks": lambda value: _is_list(value, lambda entry: isinstance(entry, str)),
    "adapter": _is_mapping,
    "skipped": _are_skipped,
    "training_images": _is_whole,
    "dataset": lambda value: _is_mapping(value, lambda entry: isinstance(entry, str)),
}
