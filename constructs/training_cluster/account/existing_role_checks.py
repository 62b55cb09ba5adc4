"""Checks of the roles and of the permissions boundary that the configuration names: no stack changes their policies."""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment

__all__ = ["existing_roles_fit", "permissions_boundary_exists"]

_NO_ENTITY = "NoSuchEntity"

# Of AmazonEKSClusterPolicy: https://docs.aws.amazon.com/eks/latest/userguide/cluster-iam-role.html
_OF_CLUSTER = ("ec2:DescribeInstances", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DescribeVpcs")
# Of AmazonEKSWorkerNodePolicy and AmazonEC2ContainerRegistryPullOnly:
# https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html
_OF_NODES = (
    "ec2:DescribeInstances",
    "eks:DescribeCluster",
    "eks-auth:AssumeRoleForPodIdentity",
    "ecr:GetAuthorizationToken",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
)
# Of AmazonSSMManagedInstanceCore:
# https://docs.aws.amazon.com/systems-manager/latest/userguide/session-manager-getting-started-instance-profile.html
_OF_SHELLS = ("ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:OpenDataChannel")
_ALLOWED = "allowed"


def existing_roles_fit(deployment: Deployment) -> Iterator[CheckResult]:
    """Read who may assume `cluster_role` and `node_role`, and simulate the actions that EKS and the nodes need."""
    config = deployment.config
    if config.cluster_role:
        yield from _role(deployment, "cluster_role", config.cluster_role, "eks.amazonaws.com", _OF_CLUSTER)
    if config.node_role:
        shells = _OF_SHELLS if any(group.ssm for group in config.node_groups.values()) else ()
        # Everywhere but in China, as in CDK's own role of a node: the service accepts both.
        yield from _role(deployment, "node_role", config.node_role, "ec2.amazonaws.com", (*_OF_NODES, *shells))


def _role(deployment: Deployment, key: str, arn: str, service: str, actions: tuple[str, ...]) -> Iterator[CheckResult]:
    account = deployment.account
    answer = account.find("iam", "get_role", _NO_ENTITY, RoleName=arn.rpartition("/")[2])
    role = answer["Role"] if answer else None
    assumed = role is not None and _trusts(role["AssumeRolePolicyDocument"], service)
    exists = role is not None and role["Arn"] == arn
    yield decided(
        key,
        exists and assumed,
        actual=f"this account has no {arn}" if not exists else f"{service} may {'' if assumed else 'not '}assume it",
        needed=f"a role that {service} may assume",
        remedy=f"give a role of this account whose trust policy allows {service} sts:AssumeRole",
    )
    if exists:
        yield _permissions(deployment, key, arn, actions)


def _trusts(policy: dict[str, Any], service: str) -> bool:
    """Return whether a trust policy names a service."""
    statements = policy["Statement"] if isinstance(policy["Statement"], list) else [policy["Statement"]]
    found = [each.get("Principal", {}).get("Service", []) for each in statements if each["Effect"] == "Allow"]
    names = [name for each in found for name in ([each] if isinstance(each, str) else each)]
    # With .cn at the end in China.
    return any(name.removesuffix(".cn") == service for name in names)


def _permissions(deployment: Deployment, key: str, arn: str, actions: tuple[str, ...]) -> CheckResult:
    """Simulate the actions: the answer takes every policy of the role into account, and its boundary."""
    request = {"PolicySourceArn": arn, "ActionNames": list(actions)}
    results = deployment.account.all("iam", "simulate_principal_policy", "EvaluationResults", **request)
    denied = [each["EvalActionName"] for each in results if each["EvalDecision"] != _ALLOWED]
    return decided(
        f"permissions of {key}",
        not denied,
        actual=f"not {', '.join(denied)}" if denied else f"the {len(actions)} actions that were simulated",
        needed=", ".join(actions),
        remedy=f"allow {arn} the actions: no stack attaches a policy to it (docs/constructs/cluster.md)",
    )


def permissions_boundary_exists(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the policy of `permissions_boundary`: IAM creates no role with another one."""
    arn = deployment.config.permissions_boundary
    if arn is None:
        return
    answer = deployment.account.find("iam", "get_policy", _NO_ENTITY, PolicyArn=arn)
    yield decided(
        "permissions boundary",
        answer is not None,
        actual="it exists" if answer else f"there is no {arn}",
        needed=arn,
        remedy="'aws iam list-policies --scope Local' shows those of the account: correct permissions_boundary",
    )
