"""The effects of a deployment on the VPC: addresses that are taken, and a cluster that cannot move."""

import ipaddress
from collections.abc import Iterator

from training_cluster.account.deployed_stack import CLUSTER, SUBNET, VPC
from training_cluster.account.replacement_checks import KEEP_VPC, KEEP_ZONES
from training_cluster.changes.findings import REJECTED, Finding, Live
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.template_changes import ResourceChange

__all__ = ["addresses_are_taken", "cluster_stays_in_its_vpc"]


def addresses_are_taken(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """A new subnet is made before the old one is deleted, and cannot have its addresses in one VPC."""
    if any(change.action == "replace" for change in stack.of_kind(VPC)):
        return
    deployed = {
        id: ipaddress.ip_network(each["Properties"]["CidrBlock"])
        for id, each in stack.old.get("Resources", {}).items()
        if each["Type"] == SUBNET and isinstance(each["Properties"].get("CidrBlock"), str)
    }
    for change in stack.of_kind(SUBNET):
        given = change.new.get("CidrBlock")
        if change.action not in ("create", "replace") or not isinstance(given, str):
            continue
        taken = [str(each) for each in deployed.values() if each.overlaps(ipaddress.ip_network(given))]
        if taken:
            yield Finding(
                outcome=REJECTED,
                subject=f"EC2 Subnet {given} in {_zone(change)}",
                effect=f"a deployed subnet has {', '.join(taken)}, and is deleted only after the new one is made",
                keys=stack.keys(change) or ("availability_zones", "vpc_cidr"),
                remedy=KEEP_ZONES,
            )


def _zone(change: ResourceChange) -> str:
    zone = change.new.get("AvailabilityZone")
    return zone if isinstance(zone, str) else "a zone of the region"


def cluster_stays_in_its_vpc(stack: PlannedStack, live: Live) -> Iterator[Finding]:
    """EKS takes other subnets of the cluster's VPC only."""
    for change in stack.of_kind(CLUSTER):
        moved = any(path.startswith("ResourcesVpcConfig/SubnetIds") for path in change.paths)
        vpcs = {each.logical_id for each in stack.of_kind(VPC) if each.deletes}
        if change.action == "update" and moved and vpcs:
            yield Finding(
                outcome=REJECTED,
                subject=stack.title(change),
                effect="would move into another VPC, and EKS keeps a cluster in its own",
                keys=tuple(key for each in stack.of_kind(VPC) for key in stack.keys(each)) or ("existing_vpc",),
                remedy=KEEP_VPC,
            )
