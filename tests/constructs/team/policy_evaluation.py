"""The part of IAM's evaluation that the policies of this library use: an explicit denial, else an allowance.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

__all__ = ["allowed", "as_text"]


def as_text(value: Any) -> Any:
    """Return a value of a template with its references as text, so that two of them compare."""
    match value:
        case {"Fn::Join": [delimiter, parts]}:
            return str(delimiter).join(map(as_text, parts))
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::FindInMap": [name, *_]}:
            return f"<{name}>"
        case {"Fn::Select": [index, values]}:
            return f"<{index} of {as_text(values)}>"
        case {"Fn::Split": [delimiter, text]}:
            return f"<{as_text(text)} at {delimiter}>"
        case dict():
            return {key: as_text(each) for key, each in value.items()}
        case list():
            return [as_text(each) for each in value]
        case _:
            return value


def allowed(
    statements: Iterable[Mapping[str, Any]], action: str, resource: str, context: Mapping[str, str] | None = None
) -> bool:
    """Return whether the statements of all policies allow a request."""
    effects = {each["Effect"] for each in statements if _applies(each, action, resource, context or {})}
    return effects == {"Allow"}


def _applies(statement: Mapping[str, Any], action: str, resource: str, context: Mapping[str, str]) -> bool:
    # A policy of a resource names none: it is about that resource.
    return (
        any(fnmatchcase(action.lower(), each.lower()) for each in _listed(statement["Action"]))
        and any(fnmatchcase(resource, each) for each in _listed(statement.get("Resource", "*")))
        and all(_holds(operator, keys, context) for operator, keys in statement.get("Condition", {}).items())
    )


def _holds(operator: str, keys: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    """Return whether a condition holds; one on a key that the request lacks does not."""
    if operator not in ("Bool", "StringEquals", "StringLike"):
        raise NotImplementedError(operator)
    like = fnmatchcase if operator == "StringLike" else str.__eq__
    return all(
        key in context and any(like(context[key], str(each)) for each in _listed(values))
        for key, values in keys.items()
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
