"""Findings of the scanners that are accepted, each with its reason, beside the construct that causes it."""

import json
from collections.abc import Iterable
from typing import Any

import jsii
from aws_cdk import Acknowledgment, CfnElement, CfnResource, Stack, Validations
from constructs import Construct, IConstruct, IValidation

__all__ = [
    "accept",
    "accept_cdks_function",
    "accept_implied_dependency",
    "accept_policy",
    "accept_policy_arn",
    "accept_services_log_key",
    "accept_wildcard",
    "children_of_type",
]

_MANAGED_POLICIES = "arn:<AWS::Partition>:iam::aws:policy/"


def accept(construct: IConstruct, reason: str, *rules: str) -> None:
    """Accepts findings on one construct.

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


def accept_implied_dependency(construct: IConstruct) -> None:
    """Accepts that the template names a dependency twice (W3005)."""
    accept(construct, "CDK writes down a dependency that a reference implies", "W3005")


def accept_services_log_key(group: IConstruct) -> None:
    """Accepts a log group whose key the user left to CloudWatch (CKV_AWS_158)."""
    accept(group, "encrypted with CloudWatch's own key, as no key was given", "CKV_AWS_158")


def accept_cdks_function(function: IConstruct, *rules: str) -> None:
    """Accepts how CDK runs a function of its own.

    Args:
        function: The function.
        *rules: Those of checkov that it breaks.
    """
    reason = "CDK's own function, which runs when the stack changes: CloudFormation sees its failure and repeats it"
    accept(function, reason, *rules)


def accept_policy(construct: IConstruct, reason: str, *policies: str) -> None:
    """Accepts AWS's own managed policies on the roles of a construct (AwsSolutions-IAM4).

    Args:
        construct: The role, or a construct above it.
        reason: Why they are not replaced by policies of our own.
        *policies: Their names, with the path, such as `service-role/AWSLambdaBasicExecutionRole`.
    """
    accept(construct, reason, *(f"AwsSolutions-IAM4[Policy::{_MANAGED_POLICIES}{policy}]" for policy in policies))


def accept_policy_arn(construct: Construct, reason: str, *arns: str) -> None:
    """Accepts managed policies whose ARNs are known at synthesis only (AwsSolutions-IAM4).

    Args:
        construct: The role, or a construct above it.
        reason: Why they are not replaced by policies of our own.
        *arns: Their ARNs, as the role has them.
    """
    construct.node.add_validation(_Deferred(construct, reason, "AwsSolutions-IAM4[Policy::{}]", arns))


def accept_wildcard(construct: Construct, reason: str, *resources: str) -> None:
    """Accepts wildcards in the resources of a policy (AwsSolutions-IAM5).

    Args:
        construct: The policy, or a construct above it.
        reason: Why the policy reaches no further than it must.
        *resources: The resources, as the policy has them.
    """
    construct.node.add_validation(_Deferred(construct, reason, "AwsSolutions-IAM5[Resource::{}]", resources))


def children_of_type(construct: IConstruct, kind: str) -> list[CfnResource]:
    """Resources of one CloudFormation type that a construct is made of, those that CDK adds by itself included."""
    resources = [child for child in construct.node.find_all() if isinstance(child, CfnResource)]
    return [resource for resource in resources if resource.cfn_resource_type == kind]


@jsii.implements(IValidation)
class _Deferred:
    """Waits until references to other stacks are resolved: a finding's id has them as the template has them."""

    def __init__(self, construct: Construct, reason: str, rule: str, values: Iterable[str]) -> None:
        self._construct, self._reason, self._rule, self._values = construct, reason, rule, tuple(values)

    def validate(self) -> list[str]:
        stack = Stack.of(self._construct)
        for value in self._values:
            accept(self._construct, self._reason, self._rule.format(_as_in_finding(stack.resolve(value))))
        return []


def _as_in_finding(value: Any) -> str:
    """Writes a resolved value in the way of cdk-nag's `flattenCfnReference`."""
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
        raise TypeError(f"{construct.node.path} has no resource of its own")
    resource.add_metadata(key, _merged(resource.get_metadata(key) or {}, addition))


def _merged(old: Any, new: Any) -> Any:
    if isinstance(new, dict):
        return {**old, **{key: _merged(old[key], value) if key in old else value for key, value in new.items()}}
    return [*old, *(item for item in new if item not in old)]
