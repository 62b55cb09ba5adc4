"""Who may reach and administer the Kubernetes API: the rules of EKS, checked before the deployment."""

import ipaddress
import re
from collections.abc import Sequence

from aws_cdk import Token

from training_cluster.network.training_network import parse_cidr
from training_workloads import InputError

__all__ = ["check_admin_arns", "check_public_access_cidrs"]

# RFC 1918: no address on the internet, so EKS refuses them here.
_PRIVATE = [ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
_EVERYBODY = ipaddress.IPv4Network("0.0.0.0/0")

# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html (read 2026-11-21)
_MOST_RANGES = 40

# An IAM role or user, not a session: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
_PRINCIPAL = re.compile(r"arn:[\w-]+:iam::\d{12}:(role|user)/\S+")
_SESSION = re.compile(r"arn:([\w-]+):sts::(\d{12}):assumed-role/([^/]+)/\S+")


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
    _check_list(argument, cidrs)
    _check_number(argument, cidrs)
    known = [cidr for cidr in cidrs if not Token.is_unresolved(cidr)]
    networks = [parse_cidr(argument, cidr, example="203.0.113.7/32") for cidr in known]
    for network in networks:
        _check_public(argument, network)
    if not allow_any_address:
        _check_not_everybody(argument, networks)


def _check_number(argument: str, cidrs: Sequence[str]) -> None:
    if len(cidrs) > _MOST_RANGES:
        raise InputError(f"{argument!r} has {len(cidrs)} ranges; give {_MOST_RANGES} or fewer, as larger ranges")


def _check_public(argument: str, network: ipaddress.IPv4Network) -> None:
    if any(network.subnet_of(private) for private in _PRIVATE):
        raise InputError(
            f"{argument!r} has '{network}', which is private; give the public addresses from which people come, and "
            "leave those inside the VPC out: they reach the API anyway"
        )


def _check_not_everybody(argument: str, networks: Sequence[ipaddress.IPv4Network]) -> None:
    # Together: 0.0.0.0/1 and 128.0.0.0/1 are everybody too.
    if _EVERYBODY in ipaddress.collapse_addresses(networks):
        raise InputError(
            f"{argument!r} is {list(map(str, networks))}, which is the whole internet; give the addresses from which "
            "people come, such as 203.0.113.7/32, or set allow_any_address to true"
        )


def check_admin_arns(argument: str, arns: Sequence[str]) -> None:
    """Refuses what cannot have an access entry.

    Raises:
        InputError: A value is not the ARN of an IAM role or user, or stands there twice.
    """
    _check_list(argument, arns)
    for arn in arns:
        if session := _SESSION.fullmatch(arn):
            partition, account, role = session.groups()
            raise InputError(
                f"{argument!r} has {arn!r}, which is a session; give its role, such as "
                f"arn:{partition}:iam::{account}:role/{role} (with the role's path, if it has one)"
            )
        if not Token.is_unresolved(arn) and not _PRINCIPAL.fullmatch(arn):
            raise InputError(
                f"{argument!r} has {arn!r}; give ARNs of IAM roles or users, "
                "such as arn:aws:iam::111122223333:role/Admin"
            )
    if len(set(arns)) < len(arns):
        raise InputError(f"{argument!r} is {list(arns)}; give each ARN once")


def _check_list(argument: str, values: Sequence[str]) -> None:
    if isinstance(values, str):
        raise InputError(f"{argument!r} is {values!r}; give a list: [{values}]")
