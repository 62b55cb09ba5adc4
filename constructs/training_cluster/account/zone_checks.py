"""Checks of the region's zones: those of the file, with the types, accepted by EKS, with free addresses."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.deployed_stack import SUBNET
from training_cluster.cluster.addons import ADDRESSES_PER_NODE
from training_workloads.catalog import gpu_instance_type
from training_workloads.catalog.regions import EKS_REFUSED_ZONE_IDS
from training_workloads.catalog.versions import OTHER_SYSTEM_INSTANCE_TYPES, SYSTEM_INSTANCE_TYPE

__all__ = [
    "subnets_have_addresses",
    "zones_are_accepted_by_eks",
    "zones_are_of_the_region",
    "zones_offer_the_instance_types",
    "zones_offer_the_system_nodes",
]

_EKS_NEEDS = 2

_ADDRESSES = "addresses"


def zones_are_of_the_region(deployment: Deployment) -> Iterator[CheckResult]:
    """Without an `env` a stack is deployed in the region of the credentials, whatever the file says."""
    names = [zone.name for zone in deployment.region_zones]
    unknown = [zone for zone in deployment.config.availability_zones if zone not in names]
    yield decided(
        "zones of the region",
        not unknown,
        actual=f"{deployment.account.region} has {', '.join(names) or 'none'}",
        needed=", ".join(deployment.zones),
        remedy=f"correct availability_zones ({', '.join(unknown)}), or set AWS_REGION to their region",
    )


def zones_are_accepted_by_eks(deployment: Deployment) -> Iterator[CheckResult]:
    """EKS rejects a cluster with a subnet in some zones, whose names differ between accounts."""
    ids = {zone.name: zone.id for zone in deployment.region_zones}
    rejected = _rejected_zones(deployment)
    wrong = [f"{name} ({ids[name]})" for name in deployment.zones if name in rejected]
    yield decided(
        "zones for EKS",
        not wrong,
        actual=", ".join(f"{name} ({ids.get(name, 'unknown')})" for name in deployment.zones),
        needed=f"none of {', '.join(sorted(rejected))}" if rejected else "any zone of this region",
        remedy=f"EKS accepts no control plane in {', '.join(wrong)}: set {_zones_of_eks(deployment)}" if wrong else "",
    )


def zones_offer_the_instance_types(deployment: Deployment) -> Iterator[CheckResult]:
    """No zone has every type; which zones of an account have one is known to EC2 only."""
    groups = deployment.config.node_groups
    offers = {kind: _offers(deployment, kind) for kind in dict.fromkeys(each.instance_type for each in groups.values())}
    for name, group in groups.items():
        zone, offering = deployment.zone_of(group), offers[group.instance_type]
        yield decided(
            f"zone of {name}",
            zone in offering,
            actual=f"{zone}; {group.instance_type} is offered in {', '.join(offering) or 'no zone'}",
            needed=f"a zone with {group.instance_type}",
            remedy="" if zone in offering else _remedy(deployment, name, offers),
        )


def zones_offer_the_system_nodes(deployment: Deployment) -> Iterator[CheckResult]:
    """The system nodes are in every zone: EKS creates no group with a subnet whose zone lacks the type."""
    kind = deployment.config.system_nodes.instance_type
    offering = _offers(deployment, kind)
    missing = [zone for zone in deployment.zones if zone not in offering]
    known = (SYSTEM_INSTANCE_TYPE, *OTHER_SYSTEM_INSTANCE_TYPES) if missing else ()
    others = [each for each in known if set(deployment.zones) <= set(_offers(deployment, each))]
    yield decided(
        "zones of system_nodes",
        not missing,
        actual=f"{kind} is offered in {', '.join(offering) or 'no zone'}",
        needed=f"{kind} in {', '.join(deployment.zones)}",
        remedy=f"set system_nodes.instance_type to {' or '.join(others) or 'a type that all of them offer'}, or choose "
        "other availability_zones",
    )


def _remedy(deployment: Deployment, name: str, offers: dict[str, list[str]]) -> str:
    """Return how a group gets into a zone with its type, and with those of the groups whose zone the same key names."""
    groups, key = deployment.config.node_groups, deployment.zone_key(name)
    if not offers[groups[name].instance_type]:
        if retired := gpu_instance_type(groups[name].instance_type).retired:
            return f"AWS retired it on {retired.on} ({retired.source}): choose {' or '.join(retired.successors)}"
        return f"no zone of {deployment.account.region} offers it: choose another region or another type"
    if key == deployment.training_zone_key and deployment.cluster:
        return _beside(deployment, name, offers[groups[name].instance_type])
    together = [offers[each.instance_type] for other, each in groups.items() if deployment.zone_key(other) == key]
    common = set.intersection(*map(set, together))
    if not common:
        return (
            f"no zone offers all types of the file whose zone {key} names: give the group a separate zone, with "
            "lustre.further_zones, choose other types, or deploy two clusters"
        )
    if key == "availability_zones":
        return f"set {_zones_to_set(deployment, common)}"
    return _put_into(deployment, name, sorted(common))


def _beside(deployment: Deployment, name: str, offering: list[str]) -> str:
    """Return how a group of a deployed cluster gets into a zone with its type, and all else stays in its own zone."""
    return _put_into(deployment, name, sorted(offering, key=lambda zone: zone not in deployment.zones))


def _put_into(deployment: Deployment, name: str, zones: list[str]) -> str:
    rejected = _rejected_zones(deployment)
    accepted = [zone for zone in zones if zone not in rejected]
    if not accepted:
        return f"EKS accepts no control plane where it is offered ({', '.join(sorted(zones))}): choose another region"
    return deployment.put_into(name, accepted[0])


def _offers(deployment: Deployment, instance_type: str) -> list[str]:
    """Return the zones that offer a type, by name."""
    filters = [{"Name": "instance-type", "Values": [instance_type]}]
    request = {"LocationType": "availability-zone", "Filters": filters}
    found = deployment.account.all("ec2", "describe_instance_type_offerings", "InstanceTypeOfferings", **request)
    return sorted(each["Location"] for each in found)


def _rejected_zones(deployment: Deployment) -> set[str]:
    ids = EKS_REFUSED_ZONE_IDS.get(deployment.account.region, frozenset())
    return {zone.name for zone in deployment.region_zones if zone.id in ids}


def _zones_of_eks(deployment: Deployment) -> str:
    """Return the key with zones that EKS accepts: those of the deployed cluster, which it has accepted."""
    deployed = deployment.deployed_zones
    return f"availability_zones: [{', '.join(deployed)}]" if deployed else _zones_to_set(deployment, None)


def _zones_to_set(deployment: Deployment, training: set[str] | None) -> str:
    """Return the key with two zones that EKS accepts, the first one with the types; None: any."""
    rejected = _rejected_zones(deployment)
    free = [zone.name for zone in deployment.region_zones if zone.name not in rejected]
    first = [name for name in free if training is None or name in training]
    if not first or len(free) < _EKS_NEEDS:
        return "AWS_REGION to another region: this one has no two zones for it"
    second = next(name for name in free if name != first[0])
    also = f", or begin with {' or '.join(first[1:])}" if training is not None and first[1:] else ""
    return f"availability_zones: [{first[0]}, {second}]{also}"


def subnets_have_addresses(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the free addresses of each training subnet with the nodes that may start; pods take addresses too."""
    found = _private_subnets(deployment)
    if found is None:
        yield skipped(_ADDRESSES, f"there is no {deployment.cluster_stack} yet; the file's own check has counted them")
        return
    wanted: Counter[str] = Counter()
    for name, group in deployment.config.node_groups.items():
        each = ADDRESSES_PER_NODE - 1 + group.ip_interfaces
        wanted[deployment.zone_of(group)] += deployment.missing_nodes(name) * each
    # Each of them starts in any zone.
    system = deployment.missing_system_nodes * ADDRESSES_PER_NODE
    for zone, addresses in wanted.items():
        free = [each["AvailableIpAddressCount"] for each in found if each["AvailabilityZone"] == zone]
        yield decided(
            f"{_ADDRESSES} in {zone}",
            max(free, default=0) >= addresses + system,
            actual=f"{max(free)} free" if free else "the VPC has no private subnet there",
            needed=f"{addresses + system} for the nodes that may start",
            remedy=_more_addresses(deployment),
        )


def _private_subnets(deployment: Deployment) -> list[dict[str, Any]] | None:
    """Return the subnets in which nodes may start; None before there are any."""
    existing = deployment.config.existing_vpc
    if existing:
        return deployment.subnets(existing.private_subnet_ids)
    has_some = deployment.cluster and deployment.cluster.ids(SUBNET)
    return deployment.node_subnets if has_some else None


def _more_addresses(deployment: Deployment) -> str:
    if deployment.config.existing_vpc:
        return "lower max_size, or name a larger subnet in existing_vpc.private_subnet_ids"
    return "lower max_size, or deploy a cluster with a larger vpc_cidr: subnets cannot grow"
