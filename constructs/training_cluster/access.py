"""Who may reach and administer the Kubernetes API: the rules of EKS, checked before the deployment."""

import ipaddress
import re
from collections.abc import Sequence

from aws_cdk import Token

from training_cluster.network import parse_cidr
from training_workloads import InputError

__all__ = ["check_admin_arns", "check_public_access_cidrs"]

# RFC 1918: no address on the internet, so EKS refuses them here.
_PRIVATE = [ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]

# An IAM role or user, not a session: https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
_PRINCIPAL = re.compile(r"arn:[\w-]+:iam::\d{12}:(role|user)/\S+")
_SESSION = re.compile(r"arn:([\w-]+):sts::(\d{12}):assumed-role/([^/]+)/\S+")


def check_public_access_cidrs(argument: str, cidrs: Sequence[str]) -> None:
    """Refuses what EKS does not take as the addresses that reach the API from outside the VPC.

    Raises:
        InputError: A value is not an IPv4 range, or one of private addresses, which have no meaning on the internet.
    """
    _check_list(argument, cidrs)
    for cidr in cidrs:
        if Token.is_unresolved(cidr):
            continue
        network = parse_cidr(argument, cidr, example="203.0.113.7/32")
        if any(network.subnet_of(private) for private in _PRIVATE):
            raise InputError(
                f"{argument!r} has {cidr!r}, which is private; give the public addresses from which people come, and "
                "leave those inside the VPC out: they reach the API anyway"
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
