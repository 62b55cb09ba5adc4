"""Address ranges: the plan of a training VPC as CDK divides it, and the rules of a range."""

import ipaddress
from typing import Annotated

from aws_cdk import Token

from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems

__all__ = [
    "PUBLIC_SUBNET_PREFIX",
    "SHORTEST_OWNED_PREFIX",
    "VpcCidr",
    "is_of_no_host",
    "private_subnet_prefix",
    "usable_addresses",
    "valid_cidr",
]

#: Public subnets hold NAT gateways and nothing else: 64 addresses each.
PUBLIC_SUBNET_PREFIX = 26

#: IANA allocates blocks of /8 (https://www.iana.org/assignments/ipv4-address-space/): a larger range has many owners.
SHORTEST_OWNED_PREFIX = 8

_ADDRESS_BITS = 32

# "This network": https://www.rfc-editor.org/rfc/rfc791#section-3.2
_THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")

# EC2 allows a /16 at most. Below a /20 the private subnets of two zones have under 1,000 addresses, and EKS gives each
# pod one. https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
_LARGEST_VPC = 16
_SMALLEST_VPC = 20

_EXAMPLE = "10.0.0.0/16"

# The first four and the last: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
_KEPT_BY_AWS = 5


def private_subnet_prefix(cidr: str, zones: int) -> int:
    """Return the prefix length of each private subnet, such as 18 for 10.0.0.0/16 in two zones.

    The private subnets share the rest of the range beside the public ones, in equal powers of two; without NAT gateways
    the range of the public subnets stays empty, so that the answer is the same.
    """
    public = zones << (_ADDRESS_BITS - PUBLIC_SUBNET_PREFIX)
    each = (ipaddress.IPv4Network(cidr).num_addresses - public) // zones
    return _ADDRESS_BITS - (each.bit_length() - 1)


def usable_addresses(prefix: int) -> int:
    """Return the number of addresses that a subnet of a prefix length has for nodes and pods; AWS keeps five."""
    return (1 << (_ADDRESS_BITS - prefix)) - _KEPT_BY_AWS


def _vpc_cidr(name: str, cidr: str) -> Problems:
    """Reject a range that a training VPC cannot have: not IPv4, not /16 to /20, or one that no VPC may have."""
    if Token.is_unresolved(cidr):
        allowed = "the ranges of the subnets are calculated from it"
        yield Problem(path=(name,), given=cidr, allowed=allowed, fix=f"give a literal range such as {_EXAMPLE}")
        return
    network = _read(cidr)
    if network is None:
        yield from valid_cidr(name, cidr, example=_EXAMPLE)
    elif not _LARGEST_VPC <= network.prefixlen <= _SMALLEST_VPC:
        # An address alone, or with bits behind the prefix: the user may not know how a range is written.
        example = "" if str(network) == cidr else f", such as {_EXAMPLE}"
        fix = f"give a range from /{_LARGEST_VPC} to /{_SMALLEST_VPC}{example}"
        yield Problem(path=(name,), given=cidr, fix=fix)
    elif problems := list(valid_cidr(name, cidr, example=_EXAMPLE)):
        yield from problems
    elif is_of_no_host(network):
        fix = f"give a private range such as {_EXAMPLE}"
        yield Problem(path=(name,), given=cidr, allowed="no VPC can have it", fix=fix)


def is_of_no_host(network: ipaddress.IPv4Network) -> bool:
    """Return whether no host has the addresses: loopback, link-local, multicast, 0.0.0.0/8 and 240.0.0.0/4.

    https://www.iana.org/assignments/iana-ipv4-special-registry/
    """
    special = network.is_loopback or network.is_multicast or network.is_link_local or network.is_reserved
    return special or network.subnet_of(_THIS_NETWORK)


def valid_cidr(name: str, cidr: str, *, example: str) -> Problems:
    """Require an IPv4 range, written as `<address>/<prefix length>` without bits behind the prefix."""
    network = _read(cidr)
    if network is None:
        yield Problem(path=(name,), given=cidr, allowed="that is not an IPv4 range", fix=f"write one such as {example}")
    elif str(network) != cidr:
        # Where the prefix is the mistake, the address under it is no suggestion.
        mistyped = network.prefixlen < SHORTEST_OWNED_PREFIX
        fix = f"write a range such as {example}" if mistyped else f"did you mean {network}?"
        yield Problem(path=(name,), given=cidr, fix=fix)


def _read(cidr: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(cidr, strict=False)
    except ValueError:
        return None


#: An address range that a training VPC can have.
VpcCidr = Annotated[str, Checked(_vpc_cidr, typed=True)]
