"""The values of an object that stop the operator, by the schema of the MPIJob definition.

Those that its Go types cannot decode, and those beyond the bounds of the definition.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

from training_workloads.mpijob.bounds import ENTRIES, TEXT
from training_workloads.validation import Path, Problem, Problems

__all__ = ["BeyondBounds", "Tolerated", "undecodable"]

# What Go's parser takes as an amount beyond the pattern of a definition: 'Gi' and '.' are zero to it, and an exponent
# may have any number of digits. It trims the space around the text in the JSON, where a tab or newline is an escape.
# https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/resource/quantity.go
_PARSED = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,18})?"
    r"|[+-]?\.?([numkMGTPE]|[KMGT]i|[eE](\+?[0-9]{1,18}|-0{0,17}[0-9]))?"
)
_TRIMMED = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

# What people write instead of `8Gi` and `8G`.
_BYTES = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<suffix>[kKMGTPE]i?)?[bB]")

# Integers of JSON that Go's float64 holds.
_EXACT = 2**53

# Types, the keyword of the schema, what it counts, and why.
_SIZES: tuple[tuple[type[list[Any]] | type[dict[Any, Any]] | type[str], str, str, str], ...] = (
    (str, "maxLength", "characters", TEXT.reason),
    (list, "maxItems", "entries", ENTRIES.reason),
    (dict, "maxProperties", "entries", ENTRIES.reason),
)

_FIXES = {
    "string": "write it in quotes",
    "boolean": "give true or false",
    "integer": "give a whole number",
    "array": "give a list",
    "object": "give a mapping of names to values",
}
_KINDS = {"string": "text", "boolean": "true or false", "integer": "a whole number", "array": "a list"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Tolerated(Problem):
    """The problem of a text that is no amount, and that Go's parser takes as one all the same: it stops nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BeyondBounds(Problem):
    """The problem of a value that is larger than a bound of the definition."""


def undecodable(schema: dict[str, Any], value: Any, path: Path = ()) -> Problems:
    """Yield the problem of each value that Go cannot decode, or decodes as another one, or that is beyond a bound.

    Args:
        schema: As in a definition. Types and bounds count: other values that it does not allow stop nothing.
        value: A value of any shape.
        path: Where it is.
    """
    # Go leaves a field as it is where JSON has null.
    if value is None:
        return
    if "x-kubernetes-int-or-string" in schema:
        yield from (_not_an_amount if "pattern" in schema else _not_int_or_text)(schema, value, path)
        yield from _too_long(schema, value, path)
        return
    yield from _too_long(schema, value, path)
    kind = schema["type"]
    if not _has_type(kind, value):
        yield Problem(
            path=path,
            given=value,
            allowed=f"the operator reads {_KINDS.get(kind, 'a mapping')} here",
            fix=_fix(kind, value),
        )
    elif kind == "integer":
        yield from list(_out_of_range(schema, value, path)) or _too_large(schema, value, path)
    elif kind == "string" and "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        yield Problem(path=path, given=value, fix="give a time, such as 2026-11-22T13:00:00Z")
    elif kind == "array":
        for number, item in enumerate(value):
            yield from undecodable(schema["items"], item, (*path, number))
    elif kind == "object":
        yield from _in_fields(schema, value, path)


def _too_long(schema: dict[str, Any], value: Any, path: Path) -> Problems:
    for kind, keyword, what, reason in _SIZES:
        most = schema.get(keyword)
        if isinstance(value, kind) and most is not None and len(value) > most:
            allowed = f"it has {len(value)} {what}, and {reason}"
            yield BeyondBounds(path=path, given=value, allowed=allowed, fix=f"give {most} {what} or fewer")


def _too_large(schema: dict[str, Any], value: float, path: Path) -> Problems:
    # Without a reason the limit is that of the type.
    if "description" in schema and value > schema["maximum"]:
        fix = f"give {schema['maximum']} or fewer"
        yield BeyondBounds(path=path, given=value, allowed=schema["description"], fix=fix)


def _in_fields(schema: dict[str, Any], value: dict[Any, Any], path: Path) -> Problems:
    every = schema.get("additionalProperties")
    known = schema.get("properties", {})
    for name, inner in value.items():
        field = every or known.get(name)
        if field:
            yield from undecodable(field, inner, (*path, str(name)))


def _has_type(kind: str, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is_whole(value)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _is_whole(value: Any) -> bool:
    """Return whether it is a number that the API server stores as a whole one: 1.0 becomes 1."""
    if isinstance(value, float):
        return value.is_integer() and abs(value) < _EXACT
    return isinstance(value, int) and not isinstance(value, bool)


def _fix(kind: str, value: Any) -> str:
    if kind == "array" and isinstance(value, str):
        return f"give a list, such as {value.split() or ['…']}"
    return _FIXES[kind]


def _out_of_range(schema: dict[str, Any], value: float, path: Path) -> Problems:
    limit = 2 ** (int(schema["format"].removeprefix("int")) - 1)
    if not -limit <= value < limit:
        yield Problem(path=path, given=value, fix=f"give a whole number from {-limit} to {limit - 1}")


def _not_int_or_text(_: dict[str, Any], value: Any, path: Path) -> Problems:
    if isinstance(value, str):
        return
    if _is_whole(value):
        yield from _out_of_range({"format": "int32"}, value, path)
    else:
        allowed = "the operator reads a whole number or text here"
        yield Problem(path=path, given=value, allowed=allowed, fix="give a number or a text")


def _not_an_amount(schema: dict[str, Any], value: Any, path: Path) -> Problems:
    match value:
        case str():
            is_amount = bool(re.fullmatch(schema["pattern"], value))
        # The definition accepts only whole numbers, but Go decodes a fraction.
        case float():
            is_amount = math.isfinite(value)
        case _:
            is_amount = _is_whole(value)
    if not is_amount:
        kind = Tolerated if isinstance(value, str) and _is_parsed(value) else Problem
        fix = _amount_fix(schema["pattern"], value)
        yield kind(path=path, given=value, allowed="it is not an amount of Kubernetes", fix=fix)


def _is_parsed(text: str) -> bool:
    trimmed = text.strip(_TRIMMED)
    return bool(trimmed and _PARSED.fullmatch(trimmed))


def _amount_fix(pattern: str, value: Any) -> str:
    trimmed = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(pattern, trimmed):
        return f"write {trimmed}, without space around it"
    if meant := _BYTES.fullmatch(trimmed):
        # Kubernetes has `Ki` and `k`, but no `K`.
        suffix = {None: "", "K": "k", "ki": "Ki"}.get(meant["suffix"], meant["suffix"])
        return f"write {meant['number']}{suffix}"
    return "give one such as 4, 500m or 512Mi"
