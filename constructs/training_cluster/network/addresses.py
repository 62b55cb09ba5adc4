"""The address plan of a training VPC, and what CDK makes of a range, as plain arithmetic."""

import ipaddress

__all__ = ["PUBLIC_SUBNET_PREFIX", "SHORTEST_OWNED_PREFIX", "private_subnet_prefix", "usable_addresses"]

#: Public subnets hold NAT gateways and nothing else: 64 addresses each.
PUBLIC_SUBNET_PREFIX = 26

#: IANA allocates blocks of /8 (https://www.iana.org/assignments/ipv4-address-space/): a larger range has many owners.
SHORTEST_OWNED_PREFIX = 8

_ADDRESS_BITS = 32

# The first four and the last: https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
_KEPT_BY_AWS = 5


def private_subnet_prefix(cidr: str, zones: int) -> int:
    """Prefix length of each private subnet, such as 18 for 10.0.0.0/16 in two zones.

    The private subnets share what the public ones leave, in equal powers of two; without NAT gateways the range of the
    public subnets stays empty, so that the answer is the same.

    Args:
        cidr: Address range of the VPC.
        zones: How many zones it has.
    """
    public = zones << (_ADDRESS_BITS - PUBLIC_SUBNET_PREFIX)
    each = (ipaddress.IPv4Network(cidr).num_addresses - public) // zones
    return _ADDRESS_BITS - (each.bit_length() - 1)


def usable_addresses(prefix: int) -> int:
    """Addresses that a subnet of this prefix length has for nodes and pods; AWS keeps five.

    Args:
        prefix: Prefix length of the subnet.
    """
    return (1 << (_ADDRESS_BITS - prefix)) - _KEPT_BY_AWS
