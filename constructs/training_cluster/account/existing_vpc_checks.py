"""Checks of the network of `existing_vpc`: its DNS, and the way of its subnets to AWS and to the internet."""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.network.endpoints import service_names

__all__ = ["existing_subnets_have_a_way_out", "existing_vpc_has_dns"]

# The attribute, and the option of 'aws ec2 modify-vpc-attribute', which changes one at a time.
_DNS = {"enableDnsSupport": "--enable-dns-support", "enableDnsHostnames": "--enable-dns-hostnames"}

_ANYWHERE = "0.0.0.0/0"
_BLACKHOLE = "blackhole"

# The targets of a route, of which an answer has one:
# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Route.html (not read here; botocore has these fields).
_TARGETS = (
    "NatGatewayId",
    "TransitGatewayId",
    "GatewayId",
    "NetworkInterfaceId",
    "VpcPeeringConnectionId",
    "LocalGatewayId",
    "CarrierGatewayId",
    "CoreNetworkArn",
)
_INTERNET_GATEWAY = "igw-"


def existing_vpc_has_dns(deployment: Deployment) -> Iterator[CheckResult]:
    """Read both attributes that EKS requires: without them nodes do not find the control plane and do not join.

    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html (this section was not read here)
    """
    existing = deployment.config.existing_vpc
    if existing is None:
        return
    missing = [name for name in _DNS if not _attribute(deployment, existing.vpc_id, name)]
    commands = (f"""{_DNS[name]} '{{"Value":true}}'""" for name in missing)
    yield decided(
        "DNS of the existing VPC",
        not missing,
        actual=f"without {' and '.join(missing)}" if missing else "both are on",
        needed=" and ".join(_DNS),
        remedy="; ".join(f"aws ec2 modify-vpc-attribute --vpc-id {existing.vpc_id} {each}" for each in commands),
    )


def _attribute(deployment: Deployment, vpc: str, name: str) -> bool:
    answer = deployment.account.ask("ec2", "describe_vpc_attribute", VpcId=vpc, Attribute=name)
    return bool(answer[name[0].upper() + name[1:]]["Value"])


def existing_subnets_have_a_way_out(deployment: Deployment) -> Iterator[CheckResult]:
    """Look for a default route of each subnet; nodes have no public address, and use no internet gateway themselves.

    Without a route they need endpoints, which are named, and a mirror of charts and images.
    """
    existing = deployment.config.existing_vpc
    if existing is None:
        return
    only = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    tables = deployment.account.all("ec2", "describe_route_tables", "RouteTables", Filters=only)
    services = service_names(ssm=any(group.ssm for group in deployment.config.node_groups.values()))
    endpoints = f"a gateway endpoint of S3, and interface endpoints of {', '.join(services)}"
    for id in existing.private_subnet_ids:
        route = _default_route(tables, id)
        target = next((route[key] for key in _TARGETS if key in route), "another target") if route else None
        leads_on = route is not None and route.get("State") != _BLACKHOLE
        yield decided(
            f"way out of {id}",
            (leads_on and not str(target).startswith(_INTERNET_GATEWAY))
            # A blackhole is a mistake; no route at all is a VPC without internet.
            or (route is None and deployment.config.mirror is not None),
            actual=f"{_ANYWHERE} to {target}{'' if leads_on else f', a {_BLACKHOLE}'}"
            if route
            else f"no default route: it needs {endpoints}",
            needed="a route to a NAT gateway, or mirror and endpoints",
            remedy=f"route {_ANYWHERE} to a NAT gateway; or remove the route, set mirror, and add {endpoints}",
        )


def _default_route(tables: list[dict[str, Any]], subnet: str) -> dict[str, Any] | None:
    """Return the default route of a subnet's table: that of its association, else the main one of the VPC."""
    pairs = [(table, each) for table in tables for each in table.get("Associations", ())]
    own = [table for table, each in pairs if each.get("SubnetId") == subnet]
    main = [table for table, each in pairs if each.get("Main")]
    routes = [route for table in (own or main)[:1] for route in table["Routes"]]
    return next((each for each in routes if each.get("DestinationCidrBlock") == _ANYWHERE), None)
