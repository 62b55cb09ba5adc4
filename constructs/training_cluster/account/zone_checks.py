"""Checks of the region and of its zones: those of the file, those that offer the types, those that EKS accepts."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_workloads.catalog import gpu_instance_type
from training_workloads.catalog.zones import EKS_REFUSED_ZONE_IDS

__all__ = ["zones_are_accepted_by_eks", "zones_are_of_the_region", "zones_offer_the_instance_types"]

_EKS_NEEDS = 2


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
        remedy=f"EKS accepts no control plane in {', '.join(wrong)}: set {_zones_to_set(deployment, None)}",
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


def _remedy(deployment: Deployment, name: str, offers: dict[str, list[str]]) -> str:
    """Return how a group gets into a zone with its type, and with those of the groups whose zone the same key names."""
    groups, key = deployment.config.node_groups, deployment.zone_key(name)
    if not offers[groups[name].instance_type]:
        if retired := gpu_instance_type(groups[name].instance_type).retired:
            return f"AWS retired it on {retired.on} ({retired.source}): choose {' or '.join(retired.successors)}"
        return f"no zone of {deployment.account.region} offers it: choose another region or another type"
    together = [offers[each.instance_type] for other, each in groups.items() if deployment.zone_key(other) == key]
    common = set.intersection(*map(set, together))
    if not common:
        return (
            f"no zone offers all types of the file whose zone {key} names: give the group a separate zone, with "
            "lustre.further_zones, choose other types, or deploy two clusters"
        )
    if key == "availability_zones":
        return f"set {_zones_to_set(deployment, common)}"
    accepted = sorted(common - _rejected_zones(deployment))
    if not accepted:
        return f"EKS accepts no control plane where it is offered ({', '.join(sorted(common))}): choose another region"
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
