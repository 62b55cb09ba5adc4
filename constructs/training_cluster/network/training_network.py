"""The network of a training cluster: private nodes, S3 traffic that stays inside AWS, every connection in a log."""

import ipaddress
from collections.abc import Sequence

from aws_cdk import RemovalPolicy, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.network.addresses import PUBLIC_SUBNET_PREFIX
from training_cluster.network.endpoints import ServiceEndpoints
from training_cluster.security.findings import accept, children_of_type
from training_workloads import InputError
from training_workloads.errors import check_text

__all__ = [
    "TrainingNetwork",
    "check_availability_zones",
    "check_training_zone",
    "check_vpc_cidr",
    "parse_cidr",
]

# EC2 takes a /16 at most. Below a /20 the private subnets of two zones have under 1,000 addresses, and EKS gives each
# pod one. https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
_LARGEST_VPC = 16
_SMALLEST_VPC = 20

# us-east-1a, and us-west-2-lax-1a for a local zone. https://docs.aws.amazon.com/global-infrastructure/latest/regions/
_ZONE = r"[a-z]{2}(-[a-z]+)+-\d+(-[a-z]+-\d+)?[a-z]"

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
        availability_zones: Sequence[str] = (),
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
            InputError: The range cannot be a VPC's, a single zone is given, or the training zone is not among them.
        """
        super().__init__(scope, id)
        check_vpc_cidr("cidr", cidr)
        check_availability_zones("availability_zones", availability_zones)
        check_training_zone("training_zone", training_zone, availability_zones)
        self.vpc = self._vpc(cidr, list(availability_zones), nat)
        self.endpoints = None if nat else ServiceEndpoints(self, "Endpoints", vpc=self.vpc, cidr=cidr)
        self.flow_logs = self._log_connections(encryption_key)
        subnets = self.vpc.private_subnets or self.vpc.isolated_subnets
        self.private_subnets = subnets
        self.training_subnet = subnets[availability_zones.index(training_zone) if training_zone else 0]

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
            accept(group, "encrypted with CloudWatch's own key, as no key was given", "CKV_AWS_158")
        self.vpc.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))
        return group


def _accept_default_group(vpc: ec2.Vpc) -> None:
    """The function with which CDK empties the default security group, which no resource of CloudFormation does."""
    provider = Stack.of(vpc).node.find_child("Custom::VpcRestrictDefaultSGCustomResourceProvider")
    for function in children_of_type(provider, "AWS::Lambda::Function"):
        reason = "CDK's own function, which runs when the stack changes: CloudFormation sees its failure and repeats it"
        accept(function, reason, "CKV_AWS_115", "CKV_AWS_116", "CKV_AWS_117")
        accept(function, "CDK writes down a dependency that a reference implies", "W3005")


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
