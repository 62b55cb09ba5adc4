"""The network of a training cluster: private nodes, one NAT gateway, S3 traffic that stays inside AWS."""

import ipaddress
from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from training_workloads import InputError

__all__ = ["TrainingNetwork", "check_availability_zones", "check_vpc_cidr"]

# A VPC is at most a /16; below a /20 each private subnet has under 1,000 addresses, and a GPU node takes dozens.
# https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
_LARGEST_VPC = 16
_SMALLEST_VPC = 20
_PUBLIC_SUBNET_MASK = 26


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
                    name="Public", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=_PUBLIC_SUBNET_MASK
                ),
                ec2.SubnetConfiguration(name="Private", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS),
            ],
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        )
        self.training_subnet = self.vpc.private_subnets[0]


def check_vpc_cidr(argument: str, cidr: str) -> None:
    """Refuses a range that a training VPC cannot have.

    Raises:
        InputError: `cidr` is not an IPv4 range from /16 to /20.
    """
    try:
        prefix = ipaddress.IPv4Network(cidr).prefixlen
    except ValueError as error:
        raise InputError(f"{argument!r} is {cidr!r}, which is not an IPv4 range; write one like 10.0.0.0/16") from error
    if not _LARGEST_VPC <= prefix <= _SMALLEST_VPC:
        raise InputError(f"{argument!r} is {cidr!r}; give a range from /{_LARGEST_VPC} to /{_SMALLEST_VPC}")


def check_availability_zones(argument: str, zones: Sequence[str]) -> None:
    """Refuses a single zone; no zone at all means those of the region.

    Raises:
        InputError: `zones` has exactly one name.
    """
    if len(zones) == 1:
        raise InputError(f"{argument!r} is {list(zones)}; EKS needs two or more zones, put the training zone first")
