"""Checks of the existing resources that the configuration names: the VPC with its subnets, the Lustre, the EFS."""

from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.config.existing import ExistingEfsConfig
from training_workloads.aws.errors import RejectionError

__all__ = ["existing_efs_can_be_mounted", "existing_lustre_can_be_mounted", "existing_vpc_has_the_subnets"]

_AVAILABLE = "available"

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_FileSystem.html: in UPDATING it stays mounted.
_MOUNTABLE = ("AVAILABLE", "UPDATING")

# https://docs.aws.amazon.com/efs/latest/ug/API_FileSystemDescription.html
_EFS_MOUNTABLE = ("available", "updating")

_NO_EFS = ("FileSystemNotFound", "AccessPointNotFound")


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
