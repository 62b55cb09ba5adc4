"""The schema of a pod template in the MPIJob definition: every field with the type that the operator's Go code decodes.

A value that Go cannot decode stops the operator for every namespace, so the API server must reject it. The rules of a
structural schema: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ .
"""

import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from training_workloads.manifests.schema_problems import (
    AMOUNT_SCHEMA,
    NUMBER_OR_TEXT,
    SchemaProblem,
    schema_problems,
    validator_of_schema,
)
from training_workloads.manifests.values import AMOUNT
from training_workloads.mpijob.bounds import CONTAINERS, ENTRIES, TEXT, WORDS, Bound
from training_workloads.validation import Path

__all__ = [
    "QUANTITY",
    "SIZES",
    "STRING",
    "TABLE",
    "TIME",
    "bounded",
    "integer",
    "json_schema",
    "label_selector_schema",
    "omitted_defaults",
    "pod_template_schema",
    "problems_of_decoding",
    "template_problems",
]

#: The table of the types, which `setup/record_pod_types.py` writes.
TABLE = "pod_types.json"

#: The bounds on sizes, by their keywords.
SIZES = {"maxLength": TEXT, "maxItems": ENTRIES, "maxProperties": ENTRIES}

# The operator reads a value that these keywords reject, and rejects this job alone.
_OF_ONE_JOB = ("enum", "minimum", "required")

_INT32 = 2**31

# RFC 3339, as metav1.Time parses it. Not `format: date-time`: with a format, the API server accepts a list for a string
# (https://github.com/kubernetes/kube-openapi/blob/master/pkg/validation/validate/type.go), and 31 February.
_DAY = (
    r"([0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
    r"|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = rf"^{_DAY}T{_CLOCK}:[0-5][0-9](\.[0-9]{{1,9}})?(Z|[+-]{_CLOCK})$"


def integer(bits: int, minimum: int | None = None, maximum: int | None = None) -> dict[str, Any]:
    """Return the schema of a whole number.

    A format is only a hint for the API server, so 32 bits have explicit limits. 64 bits need none, as it reads a longer
    number as a fraction, and must have none, as it compares with the nearest float64.

    Args:
        bits: 32 or 64.
        minimum: The smallest allowed number. Default: that of the type.
        maximum: The largest allowed number. Default: that of the type.
    """
    limits = {"minimum": -_INT32, "maximum": _INT32 - 1} if bits == 32 else {}
    given = {"minimum": minimum, "maximum": maximum}
    return {"type": "integer", "format": f"int{bits}"} | limits | {k: v for k, v in given.items() if v is not None}


def bounded(bits: int, minimum: int, bound: Bound) -> dict[str, Any]:
    """Return the schema of a whole number with a bound, whose reason is the description."""
    return integer(bits, minimum, bound.most) | {"description": bound.reason}


_INTEGER_OR_STRING = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
    "maxLength": TEXT.most,
}

#: An amount. A fraction is a string, '500m' or '0.5': a definition has no other type with strings than this one.
QUANTITY = _INTEGER_OR_STRING | {"pattern": AMOUNT}

#: A text.
STRING = {"type": "string", "maxLength": TEXT.most}

#: A point in time.
TIME = {"type": "string", "pattern": _TIME}

_LEAVES: dict[str, dict[str, Any]] = {
    "string": STRING,
    "bool": {"type": "boolean"},
    "int32": integer(32),
    "int64": integer(64),
    "Quantity": QUANTITY,
    # A number of IntOrString has 32 bits.
    "IntOrString": _INTEGER_OR_STRING | {"minimum": -_INT32, "maximum": _INT32 - 1},
    "Time": TIME,
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


_LISTS = {"Container": CONTAINERS, "EphemeralContainer": CONTAINERS, "string": WORDS}


@cache
def pod_template_schema() -> dict[str, Any]:
    """Return the schema of a PodTemplateSpec, the same object at each call."""
    return _schema("PodTemplateSpec")


def label_selector_schema() -> dict[str, Any]:
    """Return the schema of a LabelSelector."""
    return _schema("LabelSelector")


@cache
def _types() -> dict[str, Any]:
    return dict(json.loads(resources.files(__package__).joinpath(TABLE).read_text()))


def _schema(kind: str) -> dict[str, Any]:
    if kind.startswith("[]"):
        inner = kind.removeprefix("[]")
        return {"type": "array", "maxItems": _LISTS.get(inner, ENTRIES).most, "items": _schema(inner)}
    if kind.startswith("map[string]"):
        inner = kind.removeprefix("map[string]")
        return {"type": "object", "maxProperties": ENTRIES.most, "additionalProperties": _schema(inner)}
    if kind in _LEAVES:
        return dict(_LEAVES[kind])
    struct = _types()[kind]
    properties = {name: _schema(inner) for name, inner in struct["fields"].items()}
    for name, default in struct.get("defaults", {}).items():
        properties[name]["default"] = default
    required = {"required": struct["required"]} if "required" in struct else {}
    return {"type": "object", "properties": properties, **required}


def omitted_defaults(template: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the path and the default of each field that a pod template omits, where the object around it exists.

    Args:
        template: A PodTemplateSpec of any shape.
        path: Where it is.
    """
    yield from _omitted(pod_template_schema(), template, path)


def _omitted(schema: dict[str, Any], value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    fields = schema.get("properties", {})
    if isinstance(value, dict):
        for name, field in fields.items():
            if value.get(name) is not None:
                yield from _omitted(field, value[name], (*path, name))
            elif "default" in field:
                yield (*path, name), field["default"]
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _omitted(schema.get("items", {}), item, (*path, number))


def json_schema(schema: Any) -> Any:
    """Return a schema of a definition as a JSON schema, with the reasons of its bounds."""
    if not isinstance(schema, dict):
        return schema
    if "x-kubernetes-int-or-string" in schema:
        kind = AMOUNT_SCHEMA if "pattern" in schema else NUMBER_OR_TEXT
        return kind | {"maxLength": schema["maxLength"], "description": TEXT.reason}
    translated = {key: json_schema(inner) for key, inner in schema.items() if key != "default"}
    for keyword in SIZES.keys() & schema.keys():
        translated["description"] = SIZES[keyword].reason
    return translated


@cache
def _validator() -> Any:
    return validator_of_schema(json_schema(pod_template_schema()))


def template_problems(template: Any, path: Path) -> Iterator[SchemaProblem]:
    """Yield the problem of each value that the operator cannot decode, or that is beyond a bound.

    Args:
        template: A PodTemplateSpec of any shape.
        path: Where it is.
    """
    yield from problems_of_decoding(_validator(), template, path)


def problems_of_decoding(validator: Any, value: Any, path: Path = ()) -> Iterator[SchemaProblem]:
    """Yield the problems of a value without those that the operator reads.

    Args:
        validator: The validator of a `json_schema`.
        value: A value of any shape.
        path: Where it is.
    """
    for problem in schema_problems(validator, value, path):
        # Without a reason the limit is that of a rule of the operator. Go leaves a value as it is where JSON has null.
        is_rule = problem.keyword in _OF_ONE_JOB or (problem.keyword == "maximum" and not problem.allowed)
        if not is_rule and problem.given is not None:
            yield problem
