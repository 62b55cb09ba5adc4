"""The newest release of EKS's AMI, looked up once and kept in `cdk.context.json`: ADR 34."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from aws_cdk import Annotations, ContextProvider, Stack, Token
from aws_cdk.cloud_assembly_schema import ContextProvider as Provider
from aws_cdk.cloud_assembly_schema import SSMParameterContextQuery
from constructs import Construct

from training_cluster.nodes.ami_release import is_named, newest_parameter, valid_name
from training_workloads.catalog.ami_releases import Ami
from training_workloads.validation import Problems, check
from training_workloads.yaml_lines import Typed

__all__ = ["Nodes", "pinned_release"]

# Of its own context provider CDK requires stacks with an account and a region; `cdk` looks up for any.
_PROVIDER = "ssm"

# Where the CLI puts the error of a look-up: https://github.com/aws/aws-cdk/blob/main/packages/aws-cdk-lib/cx-api/lib/cxapi.ts
_ERROR = "$providerError"

_UNPINNED = (
    "EKS takes the newest AMI when it creates a node group, and again whenever the launch template changes; name "
    "a release in ami_release, or synthesize with 'cdk', which looks the newest up once"
)


class Nodes(Protocol):
    """The values of a group of nodes that decide its release.

    Attributes:
        instance_type: Their type.
        ami_release: A release, or `latest`.
    """

    instance_type: str
    ami_release: str


def pinned_release(scope: Construct, nodes: Nodes, ami: Ami, kubernetes_version: str | None) -> str | None:
    """Return the release of the nodes: the given one, or the newest as `cdk.context.json` has it.

    None where it cannot be looked up: the account, the region or the Kubernetes release is not known, or `cdk` is going
    to look it up after this synthesis, and starts another one.

    Args:
        scope: The construct of the node group.
        nodes: The user's values.
        ami: The AMI of the nodes.
        kubernetes_version: Their release of Kubernetes.

    Raises:
        InputError: The newest release has a known fault.
    """
    if is_named(nodes.ami_release):
        return nodes.ami_release
    if kubernetes_version is None or Token.is_unresolved(kubernetes_version):
        _warn(scope, "the release of Kubernetes is not known")
        return None
    key = _look_up(scope, newest_parameter(kubernetes_version, ami))
    found = scope.node.try_get_context(key) if key else None
    if isinstance(found, Mapping):
        _warn(scope, f"'cdk' could not: {found.get(_ERROR)}")
    if not isinstance(found, str):
        return None
    check(_valid_newest(found, ami, nodes.instance_type, key=str(key)))
    return found


def _look_up(scope: Construct, parameter: str) -> str | None:
    """Return the key of a parameter in the context, and ask `cdk` to look up one that the context lacks."""
    stack = Stack.of(scope)
    account, region = _known(stack.account, "CDK_DEFAULT_ACCOUNT"), _known(stack.region, "CDK_DEFAULT_REGION")
    if not (account and region):
        _warn(scope, "this synthesis knows no account or no region")
        return None
    props = {"account": account, "region": region, "parameterName": parameter}
    key = ContextProvider.get_key(scope, provider=_PROVIDER, props=props).key
    if scope.node.try_get_context(key) is None:
        role = stack.synthesizer.lookup_role
        query = SSMParameterContextQuery(account=account, region=region, parameter_name=parameter, lookup_role_arn=role)
        stack.report_missing_context_key(key=key, provider=Provider.SSM_PARAMETER_PROVIDER, props=query)
    return key


def _known(value: str, variable: str) -> str | None:
    # `cdk` gives an app the account and the region of the credentials, to which it deploys a stack without them.
    return os.environ.get(variable) if Token.is_unresolved(value) else value


def _warn(scope: Construct, why: str) -> None:
    # Once for all groups of the stack.
    text = f"ami_release is 'latest', which is not looked up, because {why}: {_UNPINNED}"
    Annotations.of(Stack.of(scope)).add_warning_v2("cdk-training-cluster:ami-release-not-looked-up", text)


def _valid_newest(found: str, ami: Ami, instance_type: str, *, key: str) -> Problems:
    for problem in valid_name(found, ami, instance_type):
        given = Typed(f"'latest', {found} in cdk.context.json")
        fix = f"{problem.fix}; 'latest' looks up again after: cdk context --reset '{key}'"
        yield replace(problem, given=given, fix=fix)
