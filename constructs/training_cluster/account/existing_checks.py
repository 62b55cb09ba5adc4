"""Checks of the existing resources that the configuration names: the VPC with its subnets, the Lustre, the EFS.

Of the VPC also its DNS, and the way of its subnets to AWS and to the internet.
"""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.config.sections import ExistingEfsConfig
from training_cluster.network.endpoints import service_names
from training_workloads.aws.errors import RejectionError

__all__ = [
    "default_route",
    "existing_efs_can_be_mounted",
    "existing_lustre_can_be_mounted",
    "existing_subnets_have_a_way_out",
    "existing_vpc_has_dns",
    "existing_vpc_has_the_subnets",
    "route_table",
    "route_tables",
]

_AVAILABLE = "available"

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_FileSystem.html: in UPDATING it stays mounted.
_MOUNTABLE = ("AVAILABLE", "UPDATING")

# https://docs.aws.amazon.com/efs/latest/ug/API_FileSystemDescription.html
_EFS_MOUNTABLE = ("available", "updating")

_NO_EFS = ("FileSystemNotFound", "AccessPointNotFound")

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


def existing_vpc_has_the_subnets(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the VPC of `existing_vpc`, and each of its subnets: the zones are matched by their order.

    In a subnet that maps public addresses a node with one interface would be on the internet.
    """
    existing = deployment.config.existing_vpc
    if existing is None:
        return
    only = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    vpc = next(iter(deployment.account.ask("ec2", "describe_vpcs", Filters=only)["Vpcs"]), None)
    yield decided(
        "existing VPC",
        vpc is not None and vpc["State"] == _AVAILABLE,
        actual=vpc["State"] if vpc else _missing(deployment, existing.vpc_id),
        needed=f"{existing.vpc_id}, {_AVAILABLE}",
        remedy="'aws ec2 describe-vpcs' shows those of the region: correct existing_vpc.vpc_id, or set AWS_REGION",
    )
    found = {each["SubnetId"]: each for each in deployment.subnets(existing.private_subnet_ids)}
    for id, zone in zip(existing.private_subnet_ids, deployment.config.availability_zones, strict=True):
        wanted = {
            "VpcId": existing.vpc_id,
            "AvailabilityZone": zone,
            "State": _AVAILABLE,
            "MapPublicIpOnLaunch": False,
        }
        yield _compared(
            f"subnet {id}",
            _values(found[id], *wanted) if id in found else None,
            wanted,
            missing=_missing(deployment, id),
            remedy=f"name a private subnet of {zone} in existing_vpc.private_subnet_ids, in the order of "
            "availability_zones",
        )


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

    Without a route they need a mirror of charts and images, and endpoints (`endpoint_checks`).
    """
    existing = deployment.config.existing_vpc
    if existing is None:
        return
    tables = route_tables(deployment)
    services = service_names(ssm=any(group.ssm for group in deployment.config.node_groups.values()))
    endpoints = f"a gateway endpoint of S3, and interface endpoints of {', '.join(services)}"
    for id in existing.private_subnet_ids:
        route = default_route(tables, id)
        target = next((route[key] for key in _TARGETS if key in route), "another target") if route else None
        leads_on = route is not None and route.get("State") != _BLACKHOLE
        yield decided(
            f"way out of {id}",
            (leads_on and not str(target).startswith(_INTERNET_GATEWAY))
            # A blackhole is a mistake; no route at all is a VPC without internet.
            or (route is None and deployment.config.mirror is not None),
            actual=f"{_ANYWHERE} to {target}{'' if leads_on else f', a {_BLACKHOLE}'}" if route else "no default route",
            needed="a route to a NAT gateway, or mirror and endpoints",
            remedy=f"route {_ANYWHERE} to a NAT gateway; or remove the route, set mirror, and add {endpoints}",
        )


def route_tables(deployment: Deployment) -> list[dict[str, Any]]:
    """Return the route tables of the VPC of `existing_vpc`."""
    existing = deployment.config.existing_vpc
    assert existing
    only = [{"Name": "vpc-id", "Values": [existing.vpc_id]}]
    return deployment.account.all("ec2", "describe_route_tables", "RouteTables", Filters=only)


def route_table(tables: list[dict[str, Any]], subnet: str) -> dict[str, Any]:
    """Return the route table of a subnet: that of its association, else the main one of the VPC."""
    pairs = [(table, each) for table in tables for each in table.get("Associations", ())]
    own = [table for table, each in pairs if each.get("SubnetId") == subnet]
    main = [table for table, each in pairs if each.get("Main")]
    return next(iter(own or main), {})


def default_route(tables: list[dict[str, Any]], subnet: str) -> dict[str, Any] | None:
    """Return the default route of a subnet."""
    routes = route_table(tables, subnet).get("Routes", ())
    return next((each for each in routes if each.get("DestinationCidrBlock") == _ANYWHERE), None)


def existing_lustre_can_be_mounted(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the file system of `existing_lustre` with its section, and with the zone of the nodes."""
    existing, vpc = deployment.config.existing_lustre, deployment.config.existing_vpc
    if existing is None or vpc is None:
        return
    found = deployment.existing_lustre
    wanted = {
        "type": "LUSTRE",
        "state": _MOUNTABLE[0],
        "VPC": vpc.vpc_id,
        "zone": deployment.training_zone,
        "mount_name": existing.mount_name,
        "capacity_gib": existing.capacity_gib,
    }
    yield _compared(
        "existing Lustre",
        _lustre(deployment, found) if found else None,
        wanted,
        missing=_missing(deployment, existing.file_system_id),
        remedy="'aws fsx describe-file-systems' shows those of the region: correct existing_lustre, or name the VPC of "
        "the file system and put its zone first in availability_zones",
    )
    yield from _group(deployment, "existing_lustre", existing.security_group_id, vpc.vpc_id)


def _lustre(deployment: Deployment, found: dict[str, Any]) -> dict[str, Any]:
    (subnet,) = deployment.subnets(found["SubnetIds"][:1])
    state = found["Lifecycle"]
    return {
        "type": found["FileSystemType"],
        "state": _MOUNTABLE[0] if state in _MOUNTABLE else state,
        "VPC": found["VpcId"],
        "zone": subnet["AvailabilityZone"],
        "mount_name": found.get("LustreConfiguration", {}).get("MountName"),
        "capacity_gib": found["StorageCapacity"],
    }


def existing_efs_can_be_mounted(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up file system, access point and mount targets of `existing_efs`: a node mounts that of its zone.

    https://docs.aws.amazon.com/efs/latest/ug/mounting-fs-mount-cmd-dns-name.html (not read here)
    """
    existing, vpc = deployment.config.existing_efs, deployment.config.existing_vpc
    if existing is None or vpc is None:
        return
    wanted = {
        "state": _AVAILABLE,
        "access point": _AVAILABLE,
        "of": existing.file_system_id,
        "mount targets in": ", ".join(deployment.zones),
    }
    yield _compared(
        "existing EFS",
        _efs(deployment, existing, vpc.vpc_id),
        wanted,
        missing=_missing(deployment, f"{existing.file_system_id} with {existing.access_point_id}"),
        remedy="'aws efs describe-access-points' shows those of the region: correct existing_efs, or add mount targets "
        f"in {vpc.vpc_id} ('aws efs create-mount-target')",
    )
    yield from _group(deployment, "existing_efs", existing.security_group_id, vpc.vpc_id)


def _efs(deployment: Deployment, existing: ExistingEfsConfig, vpc: str) -> dict[str, Any] | None:
    account, only = deployment.account, {"FileSystemId": existing.file_system_id}
    try:
        (system,) = account.ask("efs", "describe_file_systems", **only)["FileSystems"]
        targets = account.ask("efs", "describe_mount_targets", **only)["MountTargets"]
        points = account.ask("efs", "describe_access_points", AccessPointId=existing.access_point_id)["AccessPoints"]
    except RejectionError as error:
        if error.code not in _NO_EFS:
            raise
        return None
    here = [each for each in targets if each["VpcId"] == vpc and each["LifeCycleState"] == _AVAILABLE]
    zones = {each["AvailabilityZoneName"] for each in here}
    state = system["LifeCycleState"]
    return {
        "state": _AVAILABLE if state in _EFS_MOUNTABLE else state,
        "access point": points[0]["LifeCycleState"],
        "of": points[0]["FileSystemId"],
        "mount targets in": ", ".join(zone for zone in deployment.zones if zone in zones) or "none",
    }


def _group(deployment: Deployment, key: str, id: str | None, vpc: str) -> Iterator[CheckResult]:
    """Look up the security group that the deployment opens to the nodes, if one is named."""
    if id is None:
        return
    only = [{"Name": "group-id", "Values": [id]}]
    found = deployment.account.ask("ec2", "describe_security_groups", Filters=only)["SecurityGroups"]
    yield _compared(
        f"security group of {key}",
        _values(found[0], "VpcId") if found else None,
        {"VpcId": vpc},
        missing=_missing(deployment, id),
        remedy=f"give the group of the file system's network interfaces in {key}.security_group_id",
    )


def _compared(
    check: str, actual: dict[str, Any] | None, wanted: dict[str, Any], *, missing: str, remedy: str
) -> CheckResult:
    """Return whether something that exists is as wanted, field by field."""
    shown = missing if actual is None else ", ".join(f"{key} {value}" for key, value in actual.items())
    needed = ", ".join(f"{key} {value}" for key, value in wanted.items())
    return decided(check, actual == wanted, actual=shown, needed=needed, remedy=remedy)


def _values(found: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: found.get(key) for key in keys}


def _missing(deployment: Deployment, id: str) -> str:
    return f"{deployment.account.region} of this account has no {id}"
