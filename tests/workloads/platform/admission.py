"""Decide requests by ValidatingAdmissionPolicies, as the API server does: their CEL is evaluated by a library.

https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import cel

__all__ = ["Request", "denials"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to create or to update an object of a namespace.

    Attributes:
        resource: API group and name of the kind in addresses, with a subresource.
        labels: Labels of the namespace.
        user: Name of the user.
        object: The object after the mutating webhooks; None for a deletion.
        old: The object before; None for a new one.
        options: Options of a deletion.
    """

    resource: tuple[str, str]
    labels: Mapping[str, str]
    user: str
    object: dict[str, Any] | None
    old: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    operation: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "operation", self._operation())

    def _operation(self) -> str:
        if self.object is None:
            return "DELETE"
        return "UPDATE" if self.old else "CREATE"


def denials(documents: Iterable[dict[str, Any]], request: Request) -> list[str]:
    """Return the messages of the validations that reject a request."""
    policies = {each["metadata"]["name"]: each for each in documents if each["kind"] == "ValidatingAdmissionPolicy"}
    bindings = [each["spec"] for each in documents if each["kind"] == "ValidatingAdmissionPolicyBinding"]
    bound = [policies[each["policyName"]]["spec"] for each in bindings if "Deny" in each["validationActions"]]
    return [message for policy in bound if _matches(policy, request) for message in _failed(policy, request)]


def _matches(policy: dict[str, Any], request: Request) -> bool:
    constraints = policy["matchConstraints"]
    group, name = request.resource
    return _selected(constraints["namespaceSelector"], request.labels) and any(
        group in rule["apiGroups"] and name in rule["resources"] and request.operation in rule["operations"]
        for rule in constraints["resourceRules"]
    )


def _selected(selector: dict[str, Any], labels: Mapping[str, str]) -> bool:
    assert set(selector) == {"matchExpressions"}
    (expression,) = selector["matchExpressions"]
    assert expression["operator"] == "Exists"
    return expression["key"] in labels


def _failed(policy: dict[str, Any], request: Request) -> list[str]:
    assert policy["failurePolicy"] == "Fail"
    known: dict[str, Any] = {
        "object": request.object,
        "oldObject": request.old,
        "request": {
            "operation": request.operation,
            "options": request.options,
            "userInfo": {"username": request.user},
        },
        "namespaceObject": {"metadata": {"labels": dict(request.labels)}},
        "variables": {},
    }
    for variable in policy["variables"]:
        value, error = _value(variable["expression"], known)
        # As in the API server, the error is that of the expression that uses the variable.
        if not error:
            known["variables"] = {**known["variables"], variable["name"]: value}
    results = ((each["message"], *_value(each["expression"], known)) for each in policy["validations"])
    return [message + error for message, value, error in results if value is not True]


def _value(expression: str, known: dict[str, Any]) -> tuple[Any, str]:
    """Return the value of an expression, or none and its error."""
    program = cel.compile(expression)
    try:
        return program.execute(known), ""
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        return None, f" ({error!r})"
