"""Each value that a schema rejects is one problem with what was given, what the field takes, and what to write."""

from typing import Any

import pytest

from training_workloads.manifests.schema_problems import (
    AMOUNT_SCHEMA,
    NUMBER_OR_TEXT,
    schema_problems,
    validator_of_schema,
)

INT32 = {"type": "integer", "format": "int32", "minimum": 0, "maximum": 2**31 - 1}
INT64 = {"type": "integer", "format": "int64"}
BOUNDED = INT32 | {"maximum": 8, "description": "a node has 8 GPUs"}


def problems(schema: Any, value: Any) -> list[str]:
    return [str(each) for each in schema_problems(validator_of_schema({"properties": {"a": schema}}), {"a": value})]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, "2", "'a' is '2', but the field takes a whole number; write 2 without quotes"),
        ({"type": "integer"}, "two", "'a' is 'two', but the field takes a whole number; give a whole number"),
        ({"type": "integer"}, True, "'a' is True, but the field takes a whole number; give a whole number"),
        ({"type": "string"}, 5, "'a' is 5, but the field takes text; write it in quotes"),
        ({"type": "string"}, True, "'a' is True, but the field takes text; write it in quotes"),
        ({"type": "string"}, ["x"], "'a' is ['x'], but the field takes text; give text"),
        ({"type": "boolean"}, "true", "'a' is 'true', but the field takes true or false; write true without quotes"),
        ({"type": "boolean"}, "yes", "'a' is 'yes', but the field takes true or false; give true or false"),
        (
            {"type": ["array", "null"]},
            "-a b",
            "'a' is '-a b', but the field takes a list; give a list, such as ['-a', 'b']",
        ),
        ({"type": "array"}, "", "'a' is '', but the field takes a list; give a list, such as ['…']"),
        (
            {"type": "array", "items": {"type": "object"}},
            "x",
            "'a' is 'x', but the field takes a list; give a list of mappings",
        ),
        ({"type": "array"}, {"b": 1}, "'a' is {'b': 1}, but the field takes a list; give a list"),
        ({"type": "object"}, [], "'a' is [], but the field takes a mapping; give a mapping of names to values"),
        (NUMBER_OR_TEXT, 2.5, "'a' is 2.5, but the field takes a whole number or text; give a whole number or text"),
        (
            NUMBER_OR_TEXT,
            2**31,
            "'a' is 2147483648, but the field has 32 bits; give a whole number from -2147483648 to 2147483647",
        ),
        (
            INT32,
            2**40,
            "'a' is 1099511627776, but the field has 32 bits; give a whole number from 0 to 2147483647",
        ),
        (
            INT64,
            1e300,
            "'a' is 1e+300, but the field has 64 bits; give a whole number from -9223372036854775808 to "
            "9223372036854775807",
        ),
        (INT32, -1, "'a' is -1; give 0 or more"),
        (BOUNDED, 9, "'a' is 9, but a node has 8 GPUs; give 8 or fewer"),
        (AMOUNT_SCHEMA, "8GiB", "'a' is '8GiB', but it is not an amount of Kubernetes; write 8Gi"),
        (AMOUNT_SCHEMA, "8 Gi", "'a' is '8 Gi', but it is not an amount of Kubernetes; write 8Gi, without space"),
        (AMOUNT_SCHEMA, True, "'a' is True, but it is not an amount of Kubernetes; give one such as 4, 500m or 512Mi"),
        ({"enum": ["All", "None", ""]}, "all", "'a' is 'all'; did you mean All? known: All, None"),
        ({"maxItems": 1}, ["b", "c"], "'a' is ['b', 'c'], but it has 2 entries; give 1 entries or fewer"),
        ({"type": "string", "maxLength": 1}, "bc", "'a' is 'bc', but it has 2 characters; give 1 characters or fewer"),
        ({"required": ["b"]}, {"b": None}, "'a.b' is missing; add it"),
        ({"const": 1}, 2, "'a' is 2; give a value that fits 1"),
    ],
)
def test_a_rejected_value_is_one_problem_in_three_parts(schema: Any, value: Any, message: str) -> None:
    assert problems(schema, value) == [message]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (AMOUNT_SCHEMA, 0.5),
        (AMOUNT_SCHEMA, 10**400),
        (AMOUNT_SCHEMA, "1e3"),
        (NUMBER_OR_TEXT, "http"),
        ({"type": "integer"}, 1.0),
        ({"type": "array"}, ("a", "b")),
        # A null is a missing field, and another function reports the unknown ones.
        ({"type": "string"}, None),
        ({"properties": {}, "additionalProperties": False}, {"b": 1}),
    ],
)
def test_accepts_values_that_the_api_server_accepts(schema: Any, value: Any) -> None:
    assert problems(schema, value) == []


def test_the_path_has_the_keys_as_kubernetes_reads_them() -> None:
    schema = {"additionalProperties": {"items": {"type": "string"}}}
    (problem,) = schema_problems(validator_of_schema(schema), {True: [1]}, ("spec",))
    assert problem.path == ("spec", "true", 0)
    assert (problem.keyword, problem.wanted) == ("type", "string")
