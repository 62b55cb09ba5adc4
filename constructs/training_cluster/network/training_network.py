"""The network of a training cluster: private nodes, S3 traffic that stays inside AWS, a log of every connection."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from aws_cdk import Stack, Token, region_info
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from training_cluster.checks import Key
from training_cluster.log_group import log_group
from training_cluster.network.addresses import PUBLIC_SUBNET_PREFIX, VpcCidr
from training_cluster.network.endpoints import ServiceEndpoints, Services, cluster_services
from training_cluster.suppressions import (
    children_of_type,
    suppress,
    suppress_cdks_function,
    suppress_implied_dependency,
)
from training_workloads.catalog.regions import PARTITIONS, partition_of
from training_workloads.keywords import checked
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, check, known_names

__all__ = [
    "DEFAULT_ZONES",
    "TrainingNetwork",
    "Zones",
    "private_subnets",
    "region_of",
    "training_subnet",
]

#: How many zones of the region a VPC has by default: CDK takes the first ones, and EKS needs two.
DEFAULT_ZONES = 2

# us-east-1a, eusc-de-east-1a. https://docs.aws.amazon.com/global-infrastructure/latest/regions/
_ZONE = re.compile(r"(?P<region>[a-z]{2,4}(-[a-z]+)+-[0-9])[a-z]")

# us-west-2-lax-1a is a local zone, us-east-1-wl1-bos-wlz-1 one of Wavelength.
_EDGE_ZONE = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]-[a-z0-9-]+")

_RESTRICTS_DEFAULT_GROUP = "Custom::VpcRestrictDefaultSGCustomResourceProvider"
_FUNCTIONS_LOGS = "Logs"


def _zones(name: str, zones: Sequence[str]) -> Problems:
    """Require the names of two or more zones of one region; no zone at all means the first zones of the region."""
    if len(zones) == 1:
        yield Problem(path=(name,), given=zones, fix="give two or more, the one with the GPU capacity first")
        return
    known = [(index, zone) for index, zone in enumerate(zones) if not Token.is_unresolved(zone)]
    if problems := [replace(problem, path=(name, index)) for index, zone in known for problem in _zone(zone)]:
        yield from problems
    elif len(set(zones)) < len(zones):
        yield Problem(path=(name,), given=list(zones), fix="give each zone once")
    else:
        yield from _one_region(name, list(zones))


def _zone(zone: str) -> Problems:
    """Require the name of an availability zone in which EKS takes a subnet for a control plane.

    Local zones: https://docs.aws.amazon.com/eks/latest/userguide/local-zones.html; those of Wavelength:
    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html (both read 2026-11-23).
    """
    if _EDGE_ZONE.fullmatch(zone):
        allowed = "EKS takes no subnet of a local zone or of Wavelength for its control plane"
        yield Problem(path=(), given=zone, allowed=allowed, fix="give availability zones, such as us-east-1a")
    elif not (found := _ZONE.fullmatch(zone)):
        yield Problem(path=(), given=zone, fix="give the name of a zone, such as us-east-1a")
    elif not _exists(found["region"]):
        regions = sorted(region for partition in PARTITIONS.values() for region in partition.regions)
        allowed = f"AWS has no region {found['region']}"
        yield Problem(path=(), given=zone, allowed=allowed, fix=known_names(found["region"], regions))


def _exists(region: str) -> bool:
    # An aws-cdk-lib that is newer than the catalog may know more; to ask it takes a second.
    return partition_of(region) is not None or region in {each.name for each in region_info.RegionInfo.regions}


def region_of(zone: str) -> str:
    """Return the region of an availability zone."""
    return zone[:-1]


def _one_region(name: str, zones: list[str], region: str | None = None) -> Problems:
    regions = list(dict.fromkeys(region_of(zone) for zone in zones if not Token.is_unresolved(zone)))
    if len(regions) > 1:
        where = f"they are of {' and '.join(regions)}"
        yield Problem(path=(name,), given=zones, allowed=where, fix="give zones of one region")
    elif regions and region is not None and not Token.is_unresolved(region) and regions[0] != region:
        yield Problem(
            path=(name,),
            given=zones,
            allowed=f"the stack's region is {region}",
            fix=f"give zones of {region}, or create the stack with env=cdk.Environment(region={regions[0]!r})",
        )


#: Names of two or more availability zones of a region, or none for the first of the stack's region.
Zones = Annotated[Sequence[str], Checked(_zones, typed=tuple[str, ...])]


class TrainingNetwork(ec2.Vpc):
    """A VPC in two or more zones, of which one holds the GPU nodes and the file system.

    Attributes:
        node_subnets: The subnets of the nodes, one in each zone: private, or isolated without NAT.
        training_subnet: The node subnet of the training zone: GPU nodes and Lustre share it, because EFA does not
            cross zones and Lustre traffic between zones is slow and costs money.
        flow_logs: The log group of all accepted and rejected connections.
        endpoints: The AWS services inside the VPC; None where nodes reach them through NAT.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cidr: VpcCidr = "10.0.0.0/16",
        availability_zones: Zones | None = None,
        training_zone: str | None = None,
        nat: bool = True,
        ssm: bool = False,
        services: Services | None = None,
        encryption_key: Key | None = None,
    ) -> None:
        """Define the network.

        Args:
            cidr: Address range, /16 to /20.
            availability_zones: Names of two or more zones. Default: the first two zones of the region.
            training_zone: The zone with the GPU capacity, one of `availability_zones`. Default: the first.
            nat: Whether nodes reach the internet through a NAT gateway. If not, `endpoints` lead to AWS only.
            ssm: Whether the endpoints of a VPC without NAT lead to Session Manager too. Default: no.
            services: The services to which the endpoints of a VPC without NAT lead, by the id of the endpoint. Default:
                those that a cluster needs.
            encryption_key: Key of the flow logs; its policy must allow CloudWatch Logs, as that of `TrainingKey`
                does. Default: a key of CloudWatch Logs.

        Raises:
            InputError: The range cannot be a VPC's, a single zone is given, zones are of several regions or not of the
                stack's, the training zone is not among them, or a flag is not a bool.
        """
        zones = availability_zones or ()
        check(
            _one_region("availability_zones", list(zones), Stack.of(scope).region),
            _training_zone("training_zone", training_zone, zones),
        )
        super().__init__(scope, id, **_options(cidr, list(zones), nat))
        self._keep_logs_of_cdks_function(encryption_key)
        self._suppress_findings(named_zones=bool(zones))
        inside = cluster_services(ssm=ssm) if services is None else services
        self.endpoints = None if nat else ServiceEndpoints(self, "Endpoints", vpc=self, cidr=cidr, services=inside)
        self.flow_logs = self._log_connections(encryption_key)
        self.node_subnets = private_subnets(self)
        self.training_subnet = self.node_subnets[zones.index(training_zone) if training_zone else 0]

    def _log_connections(self, encryption_key: kms.IKey | None) -> logs.LogGroup:
        group = log_group(self, "FlowLogs", key=encryption_key)
        self.add_flow_log("FlowLog", destination=ec2.FlowLogDestination.to_cloud_watch_logs(group))
        return group

    def _keep_logs_of_cdks_function(self, encryption_key: kms.IKey | None) -> None:
        """Own the log group of the function that empties the default security group: Lambda's own stays for ever."""
        provider = Stack.of(self).node.find_child(_RESTRICTS_DEFAULT_GROUP)
        # A second VPC of the stack has the same function.
        if provider.node.try_find_child(_FUNCTIONS_LOGS):
            return
        assert isinstance(provider, Construct)
        group = log_group(provider, _FUNCTIONS_LOGS, key=encryption_key)
        for function in children_of_type(provider, "AWS::Lambda::Function"):
            function.add_property_override("LoggingConfig", {"LogGroup": group.log_group_name})

    def _suppress_findings(self, *, named_zones: bool) -> None:
        # CDK empties the default security group with a function, because no resource of CloudFormation does.
        provider = Stack.of(self).node.find_child(_RESTRICTS_DEFAULT_GROUP)
        for function in children_of_type(provider, "AWS::Lambda::Function"):
            suppress_cdks_function(function, "CKV_AWS_115", "CKV_AWS_116", "CKV_AWS_117")
            suppress_implied_dependency(function)
        for subnet in children_of_type(self, "AWS::EC2::Subnet") if named_zones else []:
            suppress(subnet, "the zones with the GPU capacity, as the user named them", "W3010")


def _options(cidr: str, zones: list[str], nat: bool) -> dict[str, Any]:
    kinds = ec2.SubnetType
    return {
        "ip_addresses": ec2.IpAddresses.cidr(cidr),
        "availability_zones": zones or None,
        "max_azs": None if zones else DEFAULT_ZONES,
        "nat_gateways": 1 if nat else 0,
        "subnet_configuration": [
            # Reserved without NAT: the private subnets keep their ranges with and without.
            ec2.SubnetConfiguration(
                name="Public", subnet_type=kinds.PUBLIC, cidr_mask=PUBLIC_SUBNET_PREFIX, reserved=not nat
            ),
            ec2.SubnetConfiguration(
                name="Private", subnet_type=kinds.PRIVATE_WITH_EGRESS if nat else kinds.PRIVATE_ISOLATED
            ),
        ],
        "gateway_endpoints": {"S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)},
        "restrict_default_security_group": True,
    }


def private_subnets(vpc: ec2.IVpc) -> list[ec2.ISubnet]:
    """Return the subnets of nodes and kubectl; isolated ones reach EKS too, and through endpoints the rest of AWS."""
    return vpc.private_subnets or vpc.isolated_subnets


def training_subnet(vpc: ec2.IVpc) -> ec2.ISubnet | None:
    """Return the subnet of GPU nodes and Lustre: that of a `TrainingNetwork`, else the first private one, if any."""
    return vpc.training_subnet if isinstance(vpc, TrainingNetwork) else next(iter(private_subnets(vpc)), None)


def _training_zone(name: str, zone: str | None, zones: Sequence[str]) -> Problems:
    """Reject a training zone in which the VPC has no subnet."""
    if zone is None or zone in zones:
        return
    if zones:
        yield Problem(path=(name,), given=zone, fix=f"give one of availability_zones: {', '.join(zones)}")
    else:
        fix = "name the zones of the VPC in availability_zones too, with this one among them"
        yield Problem(path=(name,), given=zone, fix=fix)
