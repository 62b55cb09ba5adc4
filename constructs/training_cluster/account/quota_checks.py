"""Checks of the quotas: vCPUs by family, EKS, VPC, Lustre; used, added by the file, and allowed."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.quotas import (
    EKS_CLUSTERS,
    ELASTIC_IPS,
    LUSTRE_CAPACITY,
    LUSTRE_FILE_SYSTEMS,
    NAT_GATEWAYS,
    NETWORK_INTERFACES,
    VPCS,
    Quota,
    vcpu_quota,
)

__all__ = [
    "eks_quota_allows_the_cluster",
    "fsx_quotas_allow_the_file_system",
    "network_interface_quota_allows_the_nodes",
    "vcpu_quotas_allow_the_nodes",
    "vpc_quotas_allow_the_network",
]

# The metric of a usage has a value every five minutes:
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch-Quotas-Visualize-Alarms.html
_USAGE_PERIOD, _USAGE_RECENT = timedelta(minutes=5), timedelta(hours=1)

_GONE = ("deleted", "failed", "deleting")


def vcpu_quotas_allow_the_nodes(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare every group at its `max_size` with the quota of its family: EC2 starts no node beyond it.

    An instance in a Capacity Block, or in an On-Demand Capacity Reservation, was counted when that was made.
    """
    more: Counter[Quota] = Counter()
    unknown: list[str] = []
    system = deployment.config.system_nodes.instance_type
    if quota := vcpu_quota(system, spot=False):
        more[quota] = deployment.missing_system_nodes * _vcpus(deployment, system)
    else:
        yield skipped(f"vCPUs of {system}", "AWS's list of quotas names none for this family")
    for name, group in deployment.config.node_groups.items():
        if group.capacity_reservation_id is not None:
            continue
        quota = vcpu_quota(group.instance_type, spot=group.capacity_type == "SPOT")
        if quota is None:
            unknown.append(group.instance_type)
        else:
            more[quota] += deployment.missing_nodes(name) * INSTANCE_TYPES[group.instance_type].vcpus
    for kind in dict.fromkeys(unknown):
        yield skipped(f"vCPUs of {kind}", "AWS's list of quotas names none for Spot instances of this family")
    for quota, vcpus in more.items():
        yield _result(deployment, quota, used=None, more=vcpus, unit="vCPUs")


def _vcpus(deployment: Deployment, instance_type: str) -> int:
    """Return the vCPUs of a type, which EC2 knows for those that are not in the catalog."""
    if known := INSTANCE_TYPES.get(instance_type):
        return known.vcpus
    answer = deployment.account.ask("ec2", "describe_instance_types", InstanceTypes=[instance_type])
    return int(answer["InstanceTypes"][0]["VCpuInfo"]["DefaultVCpus"])


def eks_quota_allows_the_cluster(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the number of clusters with the quota."""
    used = len(deployment.account.all("eks", "list_clusters", "clusters"))
    yield _result(deployment, EKS_CLUSTERS, used=used, more=int(not _has(deployment, CLUSTER)), unit="clusters")


def vpc_quotas_allow_the_network(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare VPCs, Elastic IP addresses and NAT gateways with the quotas, which are five each by default."""
    if deployment.config.existing_vpc:
        return
    account, nat = deployment.account, deployment.config.nat
    vpcs = len(account.all("ec2", "describe_vpcs", "Vpcs"))
    yield _result(deployment, VPCS, used=vpcs, more=int(not _has(deployment, "AWS::EC2::VPC")), unit="VPCs")
    if nat:
        addresses = len(account.ask("ec2", "describe_addresses")["Addresses"])
        more = int(not _has(deployment, "AWS::EC2::EIP"))
        yield _result(deployment, ELASTIC_IPS, used=addresses, more=more, unit="addresses")
        # CDK gives the gateway to the first public subnet.
        gateways = _gateways(deployment, deployment.zones[0])
        more = int(not _has(deployment, "AWS::EC2::NatGateway"))
        yield _result(deployment, NAT_GATEWAYS, used=gateways, more=more, unit=f"gateways in {deployment.zones[0]}")


def network_interface_quota_allows_the_nodes(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the interfaces of every node with the quota: each EFA device is one, up to 33 for a node."""
    used = len(deployment.account.all("ec2", "describe_network_interfaces", "NetworkInterfaces"))
    more = deployment.missing_system_nodes
    for name, group in deployment.config.node_groups.items():
        more += deployment.missing_nodes(name) * len(group.network_interfaces)
    yield _result(deployment, NETWORK_INTERFACES, used=used, more=more, unit="interfaces, EFA's included")


def fsx_quotas_allow_the_file_system(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the number and the storage of the Lustre file systems of this deployment type with the quotas."""
    if deployment.config.existing_lustre:
        return
    lustre = deployment.config.lustre
    kind, wanted = lustre.deployment_type, 1 + len(lustre.further_zones)
    own = deployment.cluster.ids(FILE_SYSTEM) if deployment.cluster else ()
    found = [
        each
        for each in deployment.account.all("fsx", "describe_file_systems", "FileSystems")
        if each.get("LustreConfiguration", {}).get("DeploymentType") == kind
    ]
    has = [each["StorageCapacity"] for each in found if each["FileSystemId"] in own]
    more = max(0, wanted - len(has))
    yield _result(deployment, LUSTRE_FILE_SYSTEMS[kind], used=len(found), more=more, unit="file systems")
    used = sum(each["StorageCapacity"] for each in found)
    more = max(0, wanted * lustre.capacity_gib - sum(has))
    yield _result(deployment, LUSTRE_CAPACITY[kind], used=used, more=more, unit="GiB")


def _result(deployment: Deployment, quota: Quota, *, used: int | None, more: int, unit: str) -> CheckResult:
    """Return the result for a quota: its part in use, which without a number CloudWatch knows, and what is added."""
    request = {"ServiceCode": quota.service, "QuotaCode": quota.code}
    found = deployment.account.ask("service-quotas", "get_service_quota", **request)["Quota"]
    limit = int(found["Value"])
    used = _usage(deployment, found) if used is None else used
    where = f"aws service-quotas request-service-quota-increase --service-code {quota.service}"
    return decided(
        found.get("QuotaName") or quota.name,
        # Deployed resources need no room.
        not more or used + more <= limit,
        actual=f"{limit} {unit}, {used} used",
        needed=f"{more} more" if more else "no more: deployed",
        remedy=f"request {used + more}: {where} --quota-code {quota.code} --desired-value {used + more}",
    )


def _usage(deployment: Deployment, quota: dict[str, Any]) -> int:
    """Return the part of a quota in use, by its metric; without a value it is 0."""
    metric = quota.get("UsageMetric")
    if not metric:
        return 0
    found = deployment.account.newest_metric(
        metric["MetricNamespace"],
        metric["MetricName"],
        metric["MetricDimensions"],
        statistic="Maximum",
        period=_USAGE_PERIOD,
        within=_USAGE_RECENT,
    )
    return int(found or 0)


def _gateways(deployment: Deployment, zone: str) -> int:
    found = deployment.account.all("ec2", "describe_nat_gateways", "NatGateways")
    subnets = [each["SubnetId"] for each in found if each["State"] not in _GONE and each.get("SubnetId")]
    if not subnets:
        return 0
    zones = {each["SubnetId"]: each["AvailabilityZone"] for each in deployment.subnets(sorted(set(subnets)))}
    return sum(zones.get(subnet) == zone for subnet in subnets)


def _has(deployment: Deployment, kind: str) -> bool:
    return deployment.cluster is not None and bool(deployment.cluster.ids(kind))
