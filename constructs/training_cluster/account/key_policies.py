"""What the policy of a KMS key allows, as far as the services of a cluster need it."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

__all__ = ["allows"]

_Statement = Mapping[str, Any]

# The two forms of the key policy for volumes: every principal through EC2, or the role of EC2 Auto Scaling by name.
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
_AUTO_SCALING = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_THROUGH_EC2 = "ec2."
_FOR_AWS_RESOURCES = "kms:grantisforawsresource"


def allows(policy: Mapping[str, Any], wanted: _Statement) -> bool:
    """Return whether the statements of a policy allow all actions of a statement, under no further condition.

    Statements that deny are not read.
    """
    statements = [each for each in _list(policy.get("Statement", [])) if each.get("Effect") == "Allow"]
    fitting = [each for each in statements if _admits(each, wanted) and _adds_no_condition(each, wanted)]
    allowed = [pattern for each in fitting for pattern in _list(each.get("Action", []))]
    return all(any(_matches(action, pattern) for pattern in allowed) for action in _list(wanted["Action"]))


def _matches(value: str, pattern: str) -> bool:
    return fnmatchcase(value.lower(), pattern.lower())


def _admits(statement: _Statement, wanted: _Statement) -> bool:
    """Return whether a statement names the principal, everyone, or the role that it means."""
    given, needed = set(_principals(statement)), set(_principals(wanted))
    through_ec2 = any(str(each).startswith(_THROUGH_EC2) for each in _conditions(wanted).get("kms:viaservice", ()))
    by_role = through_ec2 and any(each.endswith(_AUTO_SCALING) for each in given)
    return by_role or needed <= given or "*" in given


def _adds_no_condition(statement: _Statement, wanted: _Statement) -> bool:
    """Return whether a statement has no other conditions than the wanted one, and no narrower values."""
    given, needed = _conditions(statement), _conditions(wanted)
    given.pop(_FOR_AWS_RESOURCES, None)
    return all(key in needed and _covers(values, needed[key]) for key, values in given.items())


def _covers(patterns: set[str], values: set[str]) -> bool:
    return all(any(_matches(value, pattern) for pattern in patterns) for value in values)


def _conditions(statement: _Statement) -> dict[str, set[str]]:
    """Return the values of each condition by its key in lower case, of all operators."""
    found: dict[str, set[str]] = {}
    for keys in statement.get("Condition", {}).values():
        for key, values in keys.items():
            found.setdefault(key.lower(), set()).update(_list(values))
    return found


def _principals(statement: _Statement) -> Iterator[str]:
    principal = statement.get("Principal", ())
    values = principal.values() if isinstance(principal, Mapping) else [principal]
    for each in values:
        yield from _list(each)


def _list(value: Any) -> list[Any]:
    """Return the items of a part of a policy, which may be one without a list."""
    return list(value) if isinstance(value, list | tuple) else [value]
