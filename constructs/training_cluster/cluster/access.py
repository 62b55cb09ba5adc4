"""Access to the Kubernetes API: administrators, and EKS's rules for addresses, validated before the deployment."""

import ipaddress
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from aws_cdk import Token
from aws_cdk import aws_eks_v2 as eks

from training_cluster.network.addresses import SHORTEST_OWNED_PREFIX, is_of_no_host, valid_cidr
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems

__all__ = ["PublicCidrs", "administration", "public_access_is_limited"]

# RFC 1918: no address on the internet, so EKS rejects them here.
_PRIVATE = [ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
_ANY_ADDRESS = ipaddress.IPv4Network("0.0.0.0/0")

# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html (read 2026-11-21)
_MOST_RANGES = 40


def administration() -> eks.IAccessPolicy:
    """Return the policy that allows a principal everything in the cluster.

    https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
    """
    name = "AmazonEKSClusterAdminPolicy"
    return eks.AccessPolicy.from_access_policy_name(name, access_scope_type=eks.AccessScopeType.CLUSTER)


def _public_cidrs(name: str, cidrs: Sequence[str]) -> Problems:
    """Reject address ranges from which EKS does not open the API to the internet."""
    for index, cidr in enumerate(cidrs):
        if not Token.is_unresolved(cidr):
            yield from (problem.under(name) for problem in _public_range(index, cidr))
    if len(cidrs) > _MOST_RANGES:
        given = f"a list of {len(cidrs)} ranges"
        yield Problem(path=(name,), given=given, fix=f"give {_MOST_RANGES} or fewer, as larger ranges")


def _public_range(index: int, cidr: str) -> Problems:
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


def public_access_is_limited(cidrs: Sequence[str], *, allow_any_address: bool) -> Problems:
    """Reject `public_access_cidrs` with a large part of the internet, unless `allow_any_address` is given."""
    networks = [ipaddress.IPv4Network(cidr) for cidr in cidrs if not Token.is_unresolved(cidr)]
    fix = "give the addresses of your users, such as 203.0.113.7/32, or set allow_any_address to true"
    wide = [str(network) for network in networks if network.prefixlen < SHORTEST_OWNED_PREFIX]
    path, given = ("public_access_cidrs",), [str(network) for network in networks]
    if allow_any_address:
        return
    # Together: 0.0.0.0/1 and 128.0.0.0/1 are the whole internet too.
    if _ANY_ADDRESS in ipaddress.collapse_addresses(networks):
        yield Problem(path=path, given=given, allowed="that is the whole internet", fix=fix)
    elif wide:
        allowed = f"{', '.join(wide)} is a large part of the internet (shorter than /{SHORTEST_OWNED_PREFIX})"
        yield Problem(path=path, given=given, allowed=allowed, fix=fix)


#: Address ranges outside the VPC that reach the Kubernetes API.
PublicCidrs = Annotated[Sequence[str], Checked(_public_cidrs, typed=tuple[str, ...])]
