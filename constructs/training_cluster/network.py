"""The network of a training cluster: private nodes, one NAT gateway, S3 traffic that stays inside AWS."""

import ipaddress
from collections.abc import Sequence

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from training_workloads import InputError
from training_workloads.errors import check_text

__all__ = ["TrainingNetwork", "check_availability_zones", "check_vpc_cidr", "parse_cidr"]

# EC2 takes a /16 at most. Below a /20 the private subnets of two zones have under 1,000 addresses, and EKS gives each
# pod one. https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
_LARGEST_VPC = 16
_SMALLEST_VPC = 20
_PUBLIC_SUBNET_PREFIX = 26

# us-east-1a, and us-west-2-lax-1a for a local zone. https://docs.aws.amazon.com/global-infrastructure/latest/regions/
_ZONE = r"[a-z]{2}(-[a-z]+)+-\d+(-[a-z]+-\d+)?[a-z]"


class TrainingNetwork(Construct):
    """A VPC in two or more zones, of which the first holds the GPU nodes and the file system.

    Attributes:
        vpc: The VPC.
        training_subnet: The private subnet of the first zone: GPU nodes and Lustre share it, because EFA does not
            cross zones and Lustre traffic between zones is slow and paid for.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cidr: str = "10.0.0.0/16",
        availability_zones: Sequence[str] = (),
    ) -> None:
        """Defines the network.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cidr: Address range, /16 to /20.
            availability_zones: Names of two or more zones, the one with the GPU capacity first. Default: the first
                two zones of the region.

        Raises:
            InputError: The range cannot be a VPC's, or a single zone is given.
        """
        super().__init__(scope, id)
        check_vpc_cidr("cidr", cidr)
        check_availability_zones("availability_zones", availability_zones)
        self.vpc = ec2.Vpc(
            self,
            "Resource",
            ip_addresses=ec2.IpAddresses.cidr(cidr),
            availability_zones=list(availability_zones) or None,
            max_azs=None if availability_zones else 2,
            nat_gateways=1,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=_PUBLIC_SUBNET_PREFIX
                ),
                ec2.SubnetConfiguration(name="Private", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS),
            ],
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        self.training_subnet = self.vpc.private_subnets[0]


def check_vpc_cidr(argument: str, cidr: str) -> None:
    """Refuses a range that a training VPC cannot have.

    Raises:
        InputError: `cidr` is not an IPv4 range from /16 to /20 with an address that a VPC may have.
    """
    if Token.is_unresolved(cidr):
        return
    network = parse_cidr(argument, cidr, example="10.0.0.0/16")
    if not _LARGEST_VPC <= network.prefixlen <= _SMALLEST_VPC:
        raise InputError(f"{argument!r} is {cidr!r}; give a range from /{_LARGEST_VPC} to /{_SMALLEST_VPC}")
    if network.is_loopback or network.is_multicast or network.is_link_local:
        raise InputError(f"{argument!r} is {cidr!r}, which no VPC can have; give a private range such as 10.0.0.0/16")


def parse_cidr(argument: str, cidr: str, *, example: str) -> ipaddress.IPv4Network:
    """Reads an IPv4 range.

    Raises:
        InputError: `cidr` is not written as `<address>/<prefix length>`, or has bits set behind the prefix.
    """
    try:
        network = ipaddress.IPv4Network(cidr, strict=False)
    except ValueError as error:
        raise InputError(f"{argument!r} is {cidr!r}, which is not an IPv4 range; write one like {example}") from error
    if str(network) != cidr:
        raise InputError(f"{argument!r} is {cidr!r}; did you mean {network}?")
    return network


def check_availability_zones(argument: str, zones: Sequence[str]) -> None:
    """Refuses what are not the names of two or more zones; no zone at all means those of the region.

    Raises:
        InputError: There is one zone, a zone twice, or something that is no zone's name.
    """
    if isinstance(zones, str) or len(zones) == 1:
        raise InputError(f"{argument!r} is {zones!r}; give two or more, as EKS needs them, the training zone first")
    for zone in zones:
        if not Token.is_unresolved(zone):
            check_text(argument, zone, _ZONE, "names of zones, such as us-east-1a")
    if len(set(zones)) < len(zones):
        raise InputError(f"{argument!r} is {list(zones)}; give each zone once")
