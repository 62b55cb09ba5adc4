"""The price by the hour of the cluster in a template, so that the deployed one and the new one are compared alike."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM, NODE_GROUP
from training_cluster.changes.template_changes import Template, value_at
from training_cluster.monitoring.cost import CostEstimate, found_cost
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.provisioned_storage import LustreStorage, RootVolume
from training_workloads.manifests.values import mapping, sequence

__all__ = ["lustre_storage", "template_cost"]

_LUSTRE = "Properties/LustreConfiguration"


def template_cost(template: Template) -> CostEstimate | None:
    """Return the price of a template's resources, nodes at their desired size; None without a cluster."""
    clusters = list(_of_kind(template, CLUSTER))
    if not clusters:
        return None
    nodes, volumes = _nodes(template)
    release = value_at(clusters[0], "Properties/Version")
    return found_cost(
        nodes=nodes,
        root_volumes=volumes,
        lustre=tuple(filter(None, map(lustre_storage, _of_kind(template, FILE_SYSTEM)))),
        nat_gateways=sum(1 for _ in _of_kind(template, "AWS::EC2::NatGateway")),
        interface_endpoints=sum(_interfaces(each) for each in _of_kind(template, "AWS::EC2::VPCEndpoint")),
        kubernetes_version=release if isinstance(release, str) and release in KUBERNETES_RELEASES else None,
    )


def _of_kind(template: Template, kind: str) -> Iterator[Mapping[str, Any]]:
    return (each for each in template.get("Resources", {}).values() if each.get("Type") == kind)


def _nodes(template: Template) -> tuple[Counter[str], Counter[RootVolume]]:
    """Return the nodes of each type, and the volumes of each size and speed."""
    nodes, volumes = Counter[str](), Counter[RootVolume]()
    for group in _of_kind(template, NODE_GROUP):
        size = value_at(group, "Properties/ScalingConfig/DesiredSize")
        data = _launch_template(template, group)
        types = sequence(value_at(group, "Properties/InstanceTypes")) or [data.get("InstanceType")]
        # A size that only the deployment knows has no price here.
        if not isinstance(size, int | float) or not isinstance(types[0], str):
            continue
        nodes[types[0]] += int(size)
        for device in sequence(data.get("BlockDeviceMappings")):
            given = [value_at(device, f"Ebs/{key}") for key in ("VolumeSize", "Throughput", "Iops")]
            if value_at(device, "Ebs/VolumeType") == "gp3" and all(isinstance(each, int) for each in given):
                volumes[RootVolume.with_throughput(*given)] += int(size)
    return nodes, volumes


def _launch_template(template: Template, group: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a group's launch template; empty where the stack does not make it."""
    name = value_at(group, "Properties/LaunchTemplate/Id/Ref")
    found = value_at(template.get("Resources", {}).get(name, {}), "Properties/LaunchTemplateData")
    return mapping(found)


def lustre_storage(file_system: Mapping[str, Any]) -> LustreStorage | None:
    """Return the priced storage of a template's file system; None where only the deployment knows its size or kind."""
    kind = value_at(file_system, f"{_LUSTRE}/DeploymentType")
    speed = value_at(file_system, f"{_LUSTRE}/PerUnitStorageThroughput")
    capacity = value_at(file_system, "Properties/StorageCapacity")
    if not isinstance(capacity, int) or not isinstance(kind, str):
        return None
    return LustreStorage.described(capacity, kind, speed if isinstance(speed, int) else None)


def _interfaces(endpoint: Mapping[str, Any]) -> int:
    """Return how many interfaces AWS bills: an endpoint has one in each of its zones, a gateway endpoint none."""
    if value_at(endpoint, "Properties/VpcEndpointType") != "Interface":
        return 0
    return len(sequence(value_at(endpoint, "Properties/SubnetIds")))
