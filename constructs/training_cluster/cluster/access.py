"""Access to the Kubernetes API: the rules of EKS for addresses and administrators, validated before the deployment."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aws_cdk import Token
from aws_cdk import aws_eks_v2 as eks

from training_cluster.checks import valid_list
from training_cluster.network.addresses import SHORTEST_OWNED_PREFIX, is_of_no_host, valid_cidr
from training_workloads.catalog.regions import PARTITIONS
from training_workloads.validation import Problem, Problems

__all__ = [
    "administration",
    "valid_admin_arns",
    "valid_public_access_cidrs",
]

# RFC 1918: no address on the internet, so EKS rejects them here.
_PRIVATE = [ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
_ANY_ADDRESS = ipaddress.IPv4Network("0.0.0.0/0")

# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html (read 2026-11-21)
_MOST_RANGES = 40

# An IAM role or user, not a session: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
# Names and paths: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
# A path may have any visible character; '*' and '?' are those of a policy, and no principal.
_PARTITION = "|".join(PARTITIONS)
_PATH = r"([!-)+->@-~]{1,510}/)?"
_PRINCIPAL = re.compile(rf"arn:({_PARTITION}):iam::[0-9]{{12}}:(role|user)/{_PATH}[A-Za-z0-9_+=,.@-]{{1,64}}")
_SESSION = re.compile(rf"arn:({_PARTITION}):sts::([0-9]{{12}}):assumed-role/([^/]+)/\S+")
_SERVICE_LINKED = ":role/aws-service-role/"


def administration() -> eks.IAccessPolicy:
    """Return the policy that allows a principal everything in the cluster.

    https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
    """
    name = "AmazonEKSClusterAdminPolicy"
    return eks.AccessPolicy.from_access_policy_name(name, access_scope_type=eks.AccessScopeType.CLUSTER)


def valid_public_access_cidrs(name: str, cidrs: Any, *, allow_any_address: bool = False) -> Problems:
    """Reject address ranges from which EKS does not open the API to the internet, and the whole internet.

    Args:
        name: The argument, as the user typed it.
        cidrs: The address ranges.
        allow_any_address: Whether the ranges may cover the whole internet.
    """
    if problems := list(valid_list(name, cidrs)):
        yield from problems
        return
    networks: list[ipaddress.IPv4Network] = []
    for index, cidr in enumerate(cidrs):
        if Token.is_unresolved(cidr):
            continue
        if problems := [problem.under(name) for problem in _public_range(index, cidr)]:
            yield from problems
        else:
            networks.append(ipaddress.IPv4Network(cidr))
    if len(cidrs) > _MOST_RANGES:
        given = f"a list of {len(cidrs)} ranges"
        yield Problem(path=(name,), given=given, fix=f"give {_MOST_RANGES} or fewer, as larger ranges")
    if not allow_any_address:
        yield from _too_wide(name, networks)


def _public_range(index: int, cidr: Any) -> Problems:
    if problems := list(valid_cidr("", cidr, example="203.0.113.7/32")):
        yield from (replace(problem, path=(index,)) for problem in problems)
    elif is_of_no_host(ipaddress.IPv4Network(cidr)):
        # https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html: no reserved addresses.
        fix = "give the public addresses of your users, such as 203.0.113.7/32"
        yield Problem(path=(index,), given=cidr, allowed="no host on the internet has such an address", fix=fix)
    elif any(ipaddress.IPv4Network(cidr).subnet_of(private) for private in _PRIVATE):
        yield Problem(
            path=(index,),
            given=cidr,
            allowed="it is private",
            fix="give the public addresses of your users, and omit those inside the VPC: they reach the API anyway",
        )


def _too_wide(name: str, networks: Sequence[ipaddress.IPv4Network]) -> Problems:
    fix = "give the addresses of your users, such as 203.0.113.7/32, or set allow_any_address to true"
    wide = [str(network) for network in networks if network.prefixlen < SHORTEST_OWNED_PREFIX]
    given = [str(network) for network in networks]
    # Together: 0.0.0.0/1 and 128.0.0.0/1 are the whole internet too.
    if _ANY_ADDRESS in ipaddress.collapse_addresses(networks):
        yield Problem(path=(name,), given=given, allowed="that is the whole internet", fix=fix)
    elif wide:
        allowed = f"{', '.join(wide)} is a large part of the internet (shorter than /{SHORTEST_OWNED_PREFIX})"
        yield Problem(path=(name,), given=given, allowed=allowed, fix=fix)


def valid_admin_arns(name: str, arns: Any) -> Problems:
    """Reject what cannot have an access entry: what is not the ARN of an IAM role or user, or is given twice."""
    problems = list(valid_list(name, arns)) or [
        problem.under(name)
        for index, arn in enumerate(arns)
        if not Token.is_unresolved(arn)
        for problem in _valid_principal(index, arn)
    ]
    if not problems and len(set(arns)) < len(arns):
        problems = [Problem(path=(name,), given=list(arns), fix="give each ARN once")]
    yield from problems


def _valid_principal(index: int, arn: Any) -> Problems:
    text = str(arn)
    if session := _SESSION.fullmatch(text):
        partition, account, role = session.groups()
        fix = f"give its role, such as arn:{partition}:iam::{account}:role/{role} (with the role's path, if it has one)"
        yield Problem(path=(index,), given=arn, allowed="that is a session", fix=fix)
    elif _SERVICE_LINKED in text:
        allowed = "EKS does not accept the role of an AWS service"
        yield Problem(path=(index,), given=arn, allowed=allowed, fix="give a role or user of your account")
    elif not isinstance(arn, str) or not _PRINCIPAL.fullmatch(arn):
        fix = "give ARNs of IAM roles or users, such as arn:aws:iam::111122223333:role/Admin"
        yield Problem(path=(index,), given=arn, fix=fix)
