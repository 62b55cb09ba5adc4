"""Suppressions: findings of the scanners that the project accepts, each with its reason, beside their construct."""

import json
from collections.abc import Iterable
from typing import Any

import jsii
from aws_cdk import Acknowledgment, CfnElement, CfnResource, Stack, Validations
from constructs import Construct, IConstruct, IValidation

__all__ = [
    "children_of_type",
    "suppress",
    "suppress_cdks_function",
    "suppress_implied_dependency",
    "suppress_policy",
    "suppress_policy_arn",
    "suppress_services_log_key",
    "suppress_wildcard",
]

_MANAGED_POLICIES = "arn:<AWS::Partition>:iam::aws:policy/"


def suppress(construct: IConstruct, reason: str, *rules: str) -> None:
    """Suppress findings on one construct.

    Args:
        construct: For rules of cdk-nag any construct, its children included; for those of checkov and cfn-lint a
            resource of the template, or a construct with a primary one.
        reason: Why the finding is no problem here.
        *rules: `AwsSolutions-…` of cdk-nag, `CKV_…` of checkov; any other is a rule of cfn-lint.
    """
    for rule in rules:
        if rule.startswith("AwsSolutions-"):
            Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
        elif rule.startswith("CKV"):
            # https://www.checkov.io/2.Basics/Suppressing%20and%20Skipping%20Policies.html
            _extend_metadata(construct, "checkov", {"skip": [{"id": rule, "comment": reason}]})
        else:
            # https://github.com/aws-cloudformation/cfn-lint#metadata
            _extend_metadata(construct, "cfn-lint", {"config": {"ignore_checks": [rule]}, "reasons": [reason]})


def suppress_implied_dependency(construct: IConstruct) -> None:
    """Suppress that the template names a dependency twice (W3005)."""
    suppress(construct, "CDK names a dependency that a reference implies", "W3005")


def suppress_services_log_key(group: IConstruct) -> None:
    """Suppress a log group without a key of the user (CKV_AWS_158)."""
    suppress(group, "encrypted with CloudWatch's key, as no key was given", "CKV_AWS_158")


def suppress_cdks_function(function: IConstruct, *rules: str) -> None:
    """Suppress rules of checkov that CDK breaks where it runs one of its functions."""
    reason = "CDK's function, which runs when the stack changes: CloudFormation sees its failure and retries it"
    suppress(function, reason, *rules)


def suppress_policy(construct: IConstruct, reason: str, *policies: str) -> None:
    """Suppress AWS's managed policies on the roles of a construct (AwsSolutions-IAM4).

    They are given by their names with the path, such as `service-role/AWSLambdaBasicExecutionRole`; the reason says
    why this library does not replace them.
    """
    suppress(construct, reason, *(f"AwsSolutions-IAM4[Policy::{_MANAGED_POLICIES}{policy}]" for policy in policies))


def suppress_policy_arn(construct: Construct, reason: str, *arns: str) -> None:
    """Suppress managed policies whose ARNs, as in the role, are known at synthesis only (AwsSolutions-IAM4)."""
    construct.node.add_validation(_Deferred(construct, reason, "AwsSolutions-IAM4[Policy::{}]", arns))


def suppress_wildcard(construct: Construct, reason: str, *resources: str) -> None:
    """Suppress wildcards in the resources of a policy, as in the policy (AwsSolutions-IAM5)."""
    construct.node.add_validation(_Deferred(construct, reason, "AwsSolutions-IAM5[Resource::{}]", resources))


def children_of_type(construct: IConstruct, kind: str) -> list[CfnResource]:
    """Return the resources of one CloudFormation type in a construct, including those that CDK adds."""
    resources = [child for child in construct.node.find_all() if isinstance(child, CfnResource)]
    return [resource for resource in resources if resource.cfn_resource_type == kind]


@jsii.implements(IValidation)
class _Deferred:
    """Waits until references to other stacks are resolved: a finding's id has them as in the template."""

    def __init__(self, construct: Construct, reason: str, rule: str, values: Iterable[str]) -> None:
        self._construct, self._reason, self._rule, self._values = construct, reason, rule, tuple(values)

    def validate(self) -> list[str]:
        stack = Stack.of(self._construct)
        for value in self._values:
            suppress(self._construct, self._reason, self._rule.format(_as_in_finding(stack.resolve(value))))
        return []


def _as_in_finding(value: Any) -> str:
    """Return a resolved value in the format of cdk-nag's `flattenCfnReference`."""
    match value:
        case str():
            return value
        case {"Fn::Join": [delimiter, parts]}:
            return str(delimiter).join(map(_as_in_finding, parts))
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::ImportValue": name}:
            return _as_in_finding(name)
        case _:
            return json.dumps(value, separators=(",", ":"))


def _extend_metadata(construct: IConstruct, key: str, addition: dict[str, Any]) -> None:
    resource = construct if CfnElement.is_cfn_element(construct) else construct.node.default_child
    if not isinstance(resource, CfnResource):
        raise TypeError(f"{construct.node.path} has no primary resource")
    resource.add_metadata(key, _merged(resource.get_metadata(key) or {}, addition))


def _merged(old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return {**old, **{key: _merged(old[key], value) if key in old else value for key, value in new.items()}}
    return [*old, *(item for item in new if item not in old)]
