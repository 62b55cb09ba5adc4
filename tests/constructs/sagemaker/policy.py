"""IAM's decision on a request, for the statements of a template, whose values are JSON."""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

__all__ = ["is_allowed"]


def is_allowed(statements: Iterable[Mapping[str, Any]], action: str, context: Mapping[str, Any]) -> bool:
    """Return whether statements without a Deny allow an action, on any resource, with these condition keys."""
    return any(
        each["Effect"] == "Allow" and _is_named(action, each["Action"]) and _is_met(each.get("Condition", {}), context)
        for each in statements
    )


def _is_named(action: str, patterns: Any) -> bool:
    return any(fnmatchcase(action, pattern) for pattern in _list(patterns))


def _is_met(conditions: Mapping[str, Mapping[str, Any]], context: Mapping[str, Any]) -> bool:
    tests = [(operator, key, values) for operator, keys in conditions.items() for key, values in keys.items()]
    return all(_OPERATORS[operator](key, values, context) for operator, key, values in tests)


# https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
_OPERATORS: dict[str, Callable[[str, Any, Mapping[str, Any]], bool]] = {
    "StringEquals": lambda key, values, context: key in context and context[key] in _list(values),
    "ForAllValues:StringEquals": lambda key, values, context: all(
        each in _list(values) for each in _list(context.get(key, []))
    ),
    "Null": lambda key, values, context: (key not in context) == (values == "true"),
}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
