"""What the API server does to a custom resource: nulls, defaults, unknown fields, then validation.

The order is that of the handler:
https://github.com/kubernetes/apiextensions-apiserver/blob/v0.35.0/pkg/apiserver/customresource_handler.go .
Left out: lists with keys, and `metadata`, which it checks as that of any object.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["Rejected", "pruned", "stored"]

SIZES = ((str, "maxLength"), (list, "maxItems"), (dict, "maxProperties"))
LARGEST_WHOLE_FLOAT = 2**53 - 1


class Rejected(ValueError):
    """The API server answers with an error; the arguments are the paths."""


def stored(schema: dict[str, Any], document: Any) -> Any:
    """What the API server stores, or Rejected."""
    document = pruned(schema, document)
    if found := list(errors(schema, document, "")):
        raise Rejected(*found)
    return document


def pruned(schema: dict[str, Any], document: Any) -> Any:
    """What it validates: with defaults, without unknown fields and without nulls."""
    document = copy.deepcopy(document)
    default_and_prune(schema, document)
    return document


def default_and_prune(schema: dict[str, Any], value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            default_and_prune(schema.get("items", {}), item)
    if not isinstance(value, dict):
        return
    fields, every = schema.get("properties", {}), schema.get("additionalProperties")
    for name in list(value):
        field = fields.get(name) or every
        if not field:
            if not schema.get("x-kubernetes-preserve-unknown-fields"):
                del value[name]
        # No field is nullable.
        elif value[name] is None:
            del value[name]
    for name, field in fields.items():
        if "default" in field:
            value.setdefault(name, field["default"])
    for name, item in value.items():
        if field := fields.get(name) or every:
            default_and_prune(field, item)


def errors(schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    if "x-kubernetes-int-or-string" in schema:
        if not (is_whole(value) or isinstance(value, str)):
            yield path
            return
    elif not has_type(schema, value):
        yield path
        return
    if is_number(value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield path
    size = len(value) if isinstance(value, str | list | dict) else 0
    if any(isinstance(value, kind) and size > schema.get(keyword, size) for kind, keyword in SIZES):
        yield path
    # Go's `$` is the end of the text, and Python's may be before a last newline.
    if (
        isinstance(value, str)
        and "pattern" in schema
        and not re.search(re.sub(r"\$$", r"\\Z", schema["pattern"]), value)
    ):
        yield path
    if "enum" in schema and value not in schema["enum"]:
        yield path
    if isinstance(value, dict):
        fields, every = schema.get("properties", {}), schema.get("additionalProperties")
        yield from (f"{path}.{name}" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            if field := fields.get(name) or every:
                yield from errors(field, item, f"{path}.{name}")
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from errors(schema["items"], item, f"{path}[{number}]")


def has_type(schema: dict[str, Any], value: Any) -> bool:
    match schema["type"]:
        case "string":
            # With a format, it skips the type: https://github.com/kubernetes/kube-openapi/blob/master/pkg/validation/validate/type.go
            return isinstance(value, str) or (isinstance(value, list) and "format" in schema)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return is_whole(value)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """A longer integer than int64 is a float64 to it, and a float64 is whole within the range of JavaScript's integers.

    The real check allows a relative error of 1e-9 (https://github.com/go-openapi/swag/blob/master/conv/convert.go): no
    schema can reject 1.000000001, so that number is `submit`'s to find.
    """
    if not is_number(value):
        return False
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return True
    return abs(value) <= LARGEST_WHOLE_FLOAT and float(value).is_integer()
