"""The state of the other callbacks of a `fit`: counters, best values, best weights, the history."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Set by Keras in each start, or objects of this process.
_NOT_STATE = {"model", "params", "validation_data"}

_ARRAY = "array"
_PLAIN = (bool, int, float, str, type(None))


class _OtherError(Exception):
    """A value that is neither JSON's nor an array."""


def capture(callbacks: Sequence[Any]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the attributes of all callbacks as arrays and as values in JSON's types, by callback and attribute.

    Attributes of other kinds are left out: functions, and objects of a user's own.
    """
    arrays: dict[str, NDArray[Any]] = {}
    values: dict[str, Any] = {}
    for name, callback in _named(callbacks).items():
        for attribute, value in vars(callback).items():
            if attribute in _NOT_STATE:
                continue
            of_attribute: dict[str, NDArray[Any]] = {}
            path = f"{name}.{attribute}"
            try:
                values[path] = _encoded(value, path, of_attribute)
            except _OtherError:
                continue
            arrays |= of_attribute
    return arrays, values


def changed(
    now: tuple[dict[str, NDArray[Any]], dict[str, Any]], before: tuple[dict[str, NDArray[Any]], dict[str, Any]]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the attributes that have changed between two results of `capture`.

    What a user gives a callback does not change, so that a resumed run takes a new `patience`.
    """
    arrays, values = now
    changed_values = {
        path: value
        for path, value in values.items()
        if path not in before[1] or value != before[1][path] or not _equal(_arrays_of(path, now[0]), before[0])
    }
    kept = {name: array for name, array in arrays.items() if _attribute(name) in changed_values}
    return kept, changed_values


def restore(callbacks: Sequence[Any], arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> None:
    """Set the attributes of the callbacks that are the same ones as in `capture`."""
    named = _named(callbacks)
    for path, value in values.items():
        name, _, attribute = path.rpartition(".")
        if name in named:
            setattr(named[name], attribute, _decoded(value, arrays))


def _attribute(array: str) -> str:
    """Return the callback and attribute of an array's name."""
    return array.partition("[")[0]


def _arrays_of(path: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: array for name, array in arrays.items() if _attribute(name) == path}


def _equal(arrays: Mapping[str, NDArray[Any]], others: Mapping[str, NDArray[Any]]) -> bool:
    return all(name in others and np.array_equal(array, others[name]) for name, array in arrays.items())


def _named(callbacks: Sequence[Any]) -> dict[str, Any]:
    """Return the callbacks by class and number: one rank may have some that others have not."""
    counts: dict[str, int] = {}
    named = {}
    for callback in callbacks:
        kind = type(callback).__name__
        counts[kind] = counts.get(kind, 0) + 1
        named[f"callbacks/{kind}" + (f"#{counts[kind]}" if counts[kind] > 1 else "")] = callback
    return named


def _encoded(value: Any, path: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        arrays[path] = np.array(value)
        # The type of a scalar decides how it is printed, and what is calculated with it.
        return {_ARRAY: path, "scalar": isinstance(value, np.generic)}
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_encoded(each, f"{path}[{number}]", arrays) for number, each in enumerate(value)]}
    if type(value) is dict:
        return {"dict": [[_key(key), _encoded(each, f"{path}[{key}]", arrays)] for key, each in value.items()]}
    raise _OtherError


def _key(key: Any) -> Any:
    if not isinstance(key, str | int):
        raise _OtherError
    return key


def _decoded(value: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(value, Mapping):
        return value
    if _ARRAY in value:
        array = arrays[value[_ARRAY]]
        return array[()] if value["scalar"] else np.array(array)
    if "dict" in value:
        return {key: _decoded(each, arrays) for key, each in value["dict"]}
    (kind,) = value
    items = [_decoded(each, arrays) for each in value[kind]]
    return items if kind == "list" else tuple(items)
