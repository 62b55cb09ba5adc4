"""The values of an object that a JSON schema rejects, as problems: the one interpreter of the schemas of objects."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from training_workloads.manifests.values import amount_of
from training_workloads.validation import MISSING, Path, Problem, known_names

__all__ = ["AMOUNT_SCHEMA", "NUMBER_OR_TEXT", "SchemaProblem", "field_name", "schema_problems", "validator_of_schema"]

#: An amount, with the fractions that a definition cannot say.
AMOUNT_SCHEMA = {"type": ["string", "number"], "format": "quantity"}

#: A whole number or text, such as a port or its name.
NUMBER_OR_TEXT = {"type": ["integer", "string"], "format": "int32"}

# Integers of JSON that Go's float64 holds.
_EXACT = 2**53

# What people write instead of `8Gi` and `8G`.
_BYTES = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<suffix>[kKMGTPE]i?)?[bB]")

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "object": "a mapping",
    "array": "a list",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaProblem(Problem):
    """A value that a schema rejects.

    Attributes:
        keyword: The keyword of the schema, such as `type`.
        wanted: The keyword's value, such as `integer`.
    """

    keyword: str
    wanted: Any


def validator_of_schema(schema: Any, registry: Any = None) -> Any:
    """Return a validator for `schema_problems`.

    Args:
        schema: A JSON schema, in which `AMOUNT_SCHEMA` is an amount of Kubernetes.
        registry: The schemas that it refers to. Default: none.
    """
    # Here, because its import takes 0.08 s, and most commands check no object.
    import jsonschema

    known = {} if registry is None else {"registry": registry}
    return jsonschema.Draft202012Validator(schema, format_checker=_formats(), **known)


@cache
def _formats() -> Any:
    import jsonschema

    formats = jsonschema.FormatChecker(formats=())
    for name, accepts in (("int32", _is_int32), ("int64", _is_int64), ("quantity", _is_amount)):
        formats.checks(name)(accepts)
    return formats


def _is_int32(value: Any) -> bool:
    return not isinstance(value, int | float) or -(2**31) <= value < 2**31


def _is_int64(value: Any) -> bool:
    if isinstance(value, float):
        return abs(value) < _EXACT
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _is_amount(value: Any) -> bool:
    # A whole number is one, and another check rejects other types.
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, str) or amount_of(value) is not None


def field_name(key: Any) -> str:
    """Return a key as Kubernetes reads it, which makes JSON of YAML first."""
    return json.dumps(key) if key is None or isinstance(key, bool) else str(key)


def schema_problems(validator: Any, value: Any, path: Path = ()) -> Iterator[SchemaProblem]:
    """Yield the problems of the values that a schema rejects, but none of an unknown field.

    Args:
        validator: From `validator_of_schema`.
        value: A value of any shape. A null in a mapping is a missing field, as for the API server.
        path: Where it is.
    """
    # A number beyond its type is beyond each limit.
    beyond: set[Path] = set()
    for violation in validator.iter_errors(_without_nulls(value)):
        place = (*path, *map(_step, violation.absolute_path))
        if violation.validator == "format":
            beyond.add(place)
        elif violation.validator in ("minimum", "maximum") and place in beyond:
            continue
        yield from _problems(violation, place)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    # Python's tuples are lists in a manifest.
    return [_without_nulls(inner) for inner in value] if isinstance(value, list | tuple) else value


def _step(key: Any) -> str | int:
    return key if isinstance(key, int) and not isinstance(key, bool) else field_name(key)


def _problems(violation: Any, path: Path) -> Iterator[SchemaProblem]:
    keyword, wanted, given = violation.validator, violation.validator_value, violation.instance
    if keyword == "required":
        for name in wanted:
            if name not in given:
                place = (*path, name)
                yield SchemaProblem(path=place, given=MISSING, fix="add it", keyword=keyword, wanted=wanted)
    elif keyword != "additionalProperties":
        allowed, fix = _explained(violation)
        yield SchemaProblem(path=path, given=given, allowed=allowed, fix=fix, keyword=keyword, wanted=wanted)


def _explained(violation: Any) -> tuple[str, str]:
    """Return the clause after "but", and the fix."""
    schema, wanted, given = violation.schema, violation.validator_value, violation.instance
    reason = schema.get("description", "")
    match violation.validator:
        case "type" | "format" if schema.get("format") == AMOUNT_SCHEMA["format"]:
            return _no_amount(given)
        case "type":
            return _wrong_type(schema, given)
        case "format":
            bits = int(str(wanted).removeprefix("int"))
            limit = 2 ** (bits - 1)
            lowest, highest = schema.get("minimum", -limit), schema.get("maximum", limit - 1)
            return f"the field has {bits} bits", f"give a whole number from {lowest} to {highest}"
        case "enum":
            return "", known_names(str(given), [word for word in wanted if isinstance(word, str) and word])
        case "minimum":
            return "", f"give {wanted} or more"
        case "maximum":
            return reason, f"give {wanted} or fewer"
        case "maxLength" | "maxItems" | "maxProperties":
            counted = "characters" if isinstance(given, str) else "entries"
            because = f", and {reason}" if reason else ""
            return f"it has {len(given)} {counted}{because}", f"give {wanted} {counted} or fewer"
        case "pattern":
            # Only times have one here.
            return "it is not a time of Kubernetes", "give one such as 2026-11-22T13:00:00Z"
    return "", f"give a value that fits {wanted}"


def _wrong_type(schema: dict[str, Any], given: Any) -> tuple[str, str]:
    wanted = schema["type"]
    types = [name for name in ([wanted] if isinstance(wanted, str) else wanted) if name != "null"]
    words = " or ".join(_TYPES.get(name, name) for name in types)
    match types[0], given:
        case "string", bool() | int() | float():
            fix = "write it in quotes"
        case "integer", str() if given.isdecimal():
            fix = f"write {int(given)} without quotes"
        case "boolean", "true" | "false":
            fix = f"write {given} without quotes"
        case "array", _ if schema.get("items", {}).get("type") == "object":
            fix = "give a list of mappings"
        case "array", str():
            fix = f"give a list, such as {given.split() or ['…']}"
        case "object", _:
            fix = "give a mapping of names to values"
        case _:
            fix = f"give {words}"
    return f"the field takes {words}", fix


def _no_amount(given: Any) -> tuple[str, str]:
    return "it is not an amount of Kubernetes", _amount_fix("".join(given.split()) if isinstance(given, str) else "")


def _amount_fix(text: str) -> str:
    """Return what to write instead of a text without space that is no amount where it has some."""
    if amount_of(text) is not None:
        return f"write {text}, without space"
    if meant := _BYTES.fullmatch(text):
        # Kubernetes has `Ki` and `k`, but no `K`.
        suffix = {None: "", "K": "k", "ki": "Ki"}.get(meant["suffix"], meant["suffix"])
        return f"write {meant['number']}{suffix}"
    return "give one such as 4, 500m or 512Mi"
