"""Who may reach and administer the Kubernetes API: the rules of EKS, checked before the deployment."""

import ipaddress
import re
from collections.abc import Iterator, Sequence

from aws_cdk import Token
from aws_cdk import aws_eks_v2 as eks

from training_cluster.checks import check_list, shown
from training_cluster.network.addresses import SHORTEST_OWNED_PREFIX
from training_cluster.network.training_network import parse_cidr
from training_workloads import InputError
from training_workloads.validation import refuse

__all__ = ["administration", "check_admin_arns", "check_public_access_cidrs"]

# RFC 1918: no address on the internet, so EKS refuses them here.
_PRIVATE = [ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
_EVERYBODY = ipaddress.IPv4Network("0.0.0.0/0")

# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html (read 2026-11-21)
_MOST_RANGES = 40

# An IAM role or user, not a session: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
# Names and paths: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
_PRINCIPAL = re.compile(r"arn:[\w-]+:iam::\d{12}:(role|user)/([!-~]+/)?[\w+=,.@-]{1,64}")
_SESSION = re.compile(r"arn:([\w-]+):sts::(\d{12}):assumed-role/([^/]+)/\S+")
_SERVICE_LINKED = ":role/aws-service-role/"


def administration() -> eks.IAccessPolicy:
    """The policy that lets a principal do everything in the cluster.

    https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
    """
    name = "AmazonEKSClusterAdminPolicy"
    return eks.AccessPolicy.from_access_policy_name(name, access_scope_type=eks.AccessScopeType.CLUSTER)


def check_public_access_cidrs(argument: str, cidrs: Sequence[str], *, allow_any_address: bool = False) -> None:
    """Refuses what EKS does not take as the addresses that reach the API from outside the VPC, and the whole internet.

    Args:
        argument: What the user set, spelled as they typed it.
        cidrs: The address ranges.
        allow_any_address: Whether the ranges may cover the whole internet.

    Raises:
        InputError: There are too many values, or one is not an IPv4 range, or one of private addresses, which have no
            meaning on the internet; or together they are the whole internet and `allow_any_address` is not set.
    """
    check_list(argument, cidrs)
    networks: list[ipaddress.IPv4Network] = []
    mistakes: list[str] = []
    for cidr in cidrs:
        if Token.is_unresolved(cidr):
            continue
        try:
            networks.append(_public_network(argument, cidr))
        except InputError as error:
            mistakes += error.args
    mistakes += _too_many(argument, cidrs)
    mistakes += [] if allow_any_address else _too_wide(argument, networks)
    refuse(dict.fromkeys(mistakes))


def _public_network(argument: str, cidr: str) -> ipaddress.IPv4Network:
    network = parse_cidr(argument, cidr, example="203.0.113.7/32")
    if any(network.subnet_of(private) for private in _PRIVATE):
        raise InputError(
            f"{argument!r} has '{network}', which is private; give the public addresses from which people come, and "
            "leave those inside the VPC out: they reach the API anyway"
        )
    return network


def _too_many(argument: str, cidrs: Sequence[str]) -> Iterator[str]:
    if len(cidrs) > _MOST_RANGES:
        yield f"{argument!r} has {len(cidrs)} ranges; give {_MOST_RANGES} or fewer, as larger ranges"


def _too_wide(argument: str, networks: Sequence[ipaddress.IPv4Network]) -> Iterator[str]:
    advice = "give the addresses from which people come, such as 203.0.113.7/32, or set allow_any_address to true"
    wide = [str(network) for network in networks if network.prefixlen < SHORTEST_OWNED_PREFIX]
    # Together: 0.0.0.0/1 and 128.0.0.0/1 are everybody too.
    if _EVERYBODY in ipaddress.collapse_addresses(networks):
        yield f"{argument!r} is {list(map(str, networks))}, which is the whole internet; {advice}"
    elif wide:
        shortest = f"/{SHORTEST_OWNED_PREFIX}"
        yield f"{argument!r} has {', '.join(wide)}, a large part of the internet (shorter than {shortest}); {advice}"


def check_admin_arns(argument: str, arns: Sequence[str]) -> None:
    """Refuses what cannot have an access entry.

    Raises:
        InputError: A value is not the ARN of an IAM role or user, or stands there twice.
    """
    check_list(argument, arns)
    mistakes = [mistake for arn in arns if not Token.is_unresolved(arn) for mistake in _not_a_principal(argument, arn)]
    if not mistakes and len(set(arns)) < len(arns):
        mistakes = [f"{argument!r} is {list(arns)}; give each ARN once"]
    refuse(dict.fromkeys(mistakes))


def _not_a_principal(argument: str, arn: str) -> Iterator[str]:
    text = str(arn)
    if session := _SESSION.fullmatch(text):
        partition, account, role = session.groups()
        yield (
            f"{argument!r} has {arn!r}, which is a session; give its role, such as "
            f"arn:{partition}:iam::{account}:role/{role} (with the role's path, if it has one)"
        )
    elif _SERVICE_LINKED in text:
        yield f"{argument!r} has {arn!r}, the role of an AWS service, which EKS does not take; give one of your own"
    elif not isinstance(arn, str) or not _PRINCIPAL.fullmatch(arn):
        yield (
            f"{argument!r} has {shown(arn)}; give ARNs of IAM roles or users, "
            "such as arn:aws:iam::111122223333:role/Admin"
        )
