"""The network of a training cluster: private nodes, S3 traffic that stays inside AWS, every connection in a log."""

import ipaddress
import re
from collections.abc import Sequence

from aws_cdk import RemovalPolicy, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.checks import check_flag, check_list, shown
from training_cluster.network.addresses import PUBLIC_SUBNET_PREFIX, SHORTEST_OWNED_PREFIX
from training_cluster.network.endpoints import ServiceEndpoints
from training_cluster.suppressions import (
    accept,
    accept_cdks_function,
    accept_implied_dependency,
    accept_services_log_key,
    children_of_type,
)
from training_workloads import InputError
from training_workloads.validation import check_text

__all__ = [
    "TrainingNetwork",
    "check_availability_zones",
    "check_training_zone",
    "check_vpc_cidr",
    "parse_cidr",
    "private_subnets",
]

# EC2 takes a /16 at most. Below a /20 the private subnets of two zones have under 1,000 addresses, and EKS gives each
# pod one. https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
_LARGEST_VPC = 16
_SMALLEST_VPC = 20

# us-east-1a, and us-west-2-lax-1a for a local zone. https://docs.aws.amazon.com/global-infrastructure/latest/regions/
_ZONE = r"(?P<region>[a-z]{2}(-[a-z]+)+-\d+)(-[a-z]+-\d+)?[a-z]"

_EXAMPLE = "10.0.0.0/16"

_FLOW_LOGS_KEPT = logs.RetentionDays.THREE_MONTHS


class TrainingNetwork(Construct):
    """A VPC in two or more zones, of which one holds the GPU nodes and the file system.

    Attributes:
        vpc: The VPC.
        private_subnets: Where nodes are, one in each zone.
        training_subnet: The private subnet of the training zone: GPU nodes and Lustre share it, because EFA does not
            cross zones and Lustre traffic between zones is slow and paid for.
        flow_logs: The log group of every accepted and refused connection.
        endpoints: The AWS services inside the VPC; None where nodes reach them through NAT.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cidr: str = "10.0.0.0/16",
        availability_zones: Sequence[str] | None = None,
        training_zone: str | None = None,
        nat: bool = True,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        """Defines the network.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cidr: Address range, /16 to /20.
            availability_zones: Names of two or more zones. Default: the first two zones of the region.
            training_zone: The zone with the GPU capacity, one of `availability_zones`. Default: the first.
            nat: Whether nodes reach the internet through a NAT gateway. If not, `endpoints` lead to AWS only.
            encryption_key: Key of the flow logs; it must let CloudWatch Logs in, as `TrainingKey` does. Default: a
                key of CloudWatch Logs.

        Raises:
            InputError: The range cannot be a VPC's, a single zone is given, zones are of several regions or not of the
                stack's, the training zone is not among them, or `nat` is not a bool.
        """
        super().__init__(scope, id)
        zones = () if availability_zones is None else availability_zones
        check_vpc_cidr("cidr", cidr)
        check_availability_zones("availability_zones", zones)
        _check_region("availability_zones", zones, Stack.of(self).region)
        check_training_zone("training_zone", training_zone, zones)
        check_flag("nat", nat)
        self.vpc = self._vpc(cidr, list(zones), nat)
        self.endpoints = None if nat else ServiceEndpoints(self, "Endpoints", vpc=self.vpc, cidr=cidr)
        self.flow_logs = self._log_connections(encryption_key)
        subnets = private_subnets(self.vpc)
        self.private_subnets = subnets
        self.training_subnet = subnets[zones.index(training_zone) if training_zone else 0]

    def _vpc(self, cidr: str, zones: list[str], nat: bool) -> ec2.Vpc:
        kinds = ec2.SubnetType
        vpc = ec2.Vpc(
            self,
            "Resource",
            ip_addresses=ec2.IpAddresses.cidr(cidr),
            availability_zones=zones or None,
            max_azs=None if zones else 2,
            nat_gateways=1 if nat else 0,
            subnet_configuration=[
                # Reserved without NAT: the private subnets keep their ranges whatever is chosen.
                ec2.SubnetConfiguration(
                    name="Public", subnet_type=kinds.PUBLIC, cidr_mask=PUBLIC_SUBNET_PREFIX, reserved=not nat
                ),
                ec2.SubnetConfiguration(
                    name="Private", subnet_type=kinds.PRIVATE_WITH_EGRESS if nat else kinds.PRIVATE_ISOLATED
                ),
            ],
            gateway_endpoints={"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
            restrict_default_security_group=True,
        )
        _accept_default_group(vpc)
        for subnet in children_of_type(vpc, "AWS::EC2::Subnet") if zones else []:
            accept(subnet, "the zones with the GPU capacity, as the user named them", "W3010")
        return vpc

    def _log_connections(self, encryption_key: kms.IKey | None) -> logs.LogGroup:
        group = logs.LogGroup(
            self,
            "FlowLogs",
            retention=_FLOW_LOGS_KEPT,
            encryption_key=encryption_key,
            # They tell of this VPC only, and a cluster that is made every morning would leave a group every evening.
            removal_policy=RemovalPolicy.DESTROY,
        )
        if encryption_key is None:
            accept_services_log_key(group)
        self.vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))
        return group


def private_subnets(vpc: ec2.IVpc) -> list[ec2.ISubnet]:
    """Where nodes and kubectl run; isolated subnets reach EKS too, and with endpoints the rest of AWS.

    Args:
        vpc: A VPC, perhaps one with neither kind.
    """
    return vpc.private_subnets or vpc.isolated_subnets


def _accept_default_group(vpc: ec2.Vpc) -> None:
    """The function with which CDK empties the default security group, which no resource of CloudFormation does."""
    provider = Stack.of(vpc).node.find_child("Custom::VpcRestrictDefaultSGCustomResourceProvider")
    for function in children_of_type(provider, "AWS::Lambda::Function"):
        accept_cdks_function(function, "CKV_AWS_115", "CKV_AWS_116", "CKV_AWS_117")
        accept_implied_dependency(function)


def check_vpc_cidr(argument: str, cidr: str) -> None:
    """Refuses a range that a training VPC cannot have.

    Raises:
        InputError: `cidr` is not an IPv4 range from /16 to /20 with an address that a VPC may have.
    """
    if Token.is_unresolved(cidr):
        return
    network = _read_cidr(argument, cidr, _EXAMPLE)
    if not _LARGEST_VPC <= network.prefixlen <= _SMALLEST_VPC:
        # An address alone, or with bits behind the prefix: how a range is written may not be known.
        example = "" if str(network) == cidr else f", such as {_EXAMPLE}"
        raise InputError(f"{argument!r} is {cidr!r}; give a range from /{_LARGEST_VPC} to /{_SMALLEST_VPC}{example}")
    parse_cidr(argument, cidr, example=_EXAMPLE)
    if network.is_loopback or network.is_multicast or network.is_link_local:
        raise InputError(f"{argument!r} is {cidr!r}, which no VPC can have; give a private range such as {_EXAMPLE}")


def parse_cidr(argument: str, cidr: str, *, example: str) -> ipaddress.IPv4Network:
    """Reads an IPv4 range.

    Raises:
        InputError: `cidr` is not written as `<address>/<prefix length>`, or has bits set behind the prefix.
    """
    network = _read_cidr(argument, cidr, example)
    if str(network) != cidr:
        # Where the prefix is the slip of the pen, what it makes of the address is no proposal.
        slip = network.prefixlen < SHORTEST_OWNED_PREFIX
        told = f"write a range like {example}" if slip else f"did you mean {network}?"
        raise InputError(f"{argument!r} is {cidr!r}; {told}")
    return network


def _read_cidr(argument: str, cidr: str, example: str) -> ipaddress.IPv4Network:
    try:
        # Python would take a number for an address.
        return ipaddress.IPv4Network(cidr if isinstance(cidr, str) else "", strict=False)
    except ValueError as error:
        told = shown(cidr)
        raise InputError(f"{argument!r} is {told}, which is not an IPv4 range; write one like {example}") from error


def check_availability_zones(argument: str, zones: Sequence[str]) -> None:
    """Refuses what are not the names of two or more zones; no zone at all means those of the region.

    Raises:
        InputError: There is one zone, a zone twice, zones of several regions, or something that is no zone's name.
    """
    if not isinstance(zones, str):
        check_list(argument, zones)
    if isinstance(zones, str) or len(zones) == 1:
        raise InputError(f"{argument!r} is {zones!r}; give two or more, as EKS needs them, the training zone first")
    for zone in zones:
        if not Token.is_unresolved(zone):
            check_text(argument, zone, _ZONE, "names of zones, such as us-east-1a")
    if len(set(zones)) < len(zones):
        raise InputError(f"{argument!r} is {list(zones)}; give each zone once")
    if len(regions := _regions(zones)) > 1:
        raise InputError(f"{argument!r} is {list(zones)}, of {' and '.join(regions)}; give zones of one region")


def _regions(zones: Sequence[str]) -> list[str]:
    """Regions of the zones that are known, without repetitions; a local zone belongs to a region as the others do."""
    found = [re.fullmatch(_ZONE, zone) for zone in zones if not Token.is_unresolved(zone)]
    return list(dict.fromkeys(zone["region"] for zone in found if zone))


def _check_region(argument: str, zones: Sequence[str], region: str) -> None:
    for other in _regions(zones):
        if not Token.is_unresolved(region) and other != region:
            raise InputError(
                f"{argument!r} is {list(zones)}, of {other}, but the stack's region is {region}; give zones of "
                f"{region}, or make the stack with env=cdk.Environment(region={other!r})"
            )


def check_training_zone(argument: str, zone: str | None, zones: Sequence[str]) -> None:
    """Refuses a training zone in which the VPC has no subnet.

    Raises:
        InputError: The zone is not one of the VPC's, or these are not named.
    """
    if zone is None or zone in zones:
        return
    if not zones:
        raise InputError(
            f"{argument!r} is {zone!r}; name the zones of the VPC in availability_zones too, it among them"
        )
    raise InputError(f"{argument!r} is {zone!r}; give one of availability_zones: {', '.join(zones)}")
