"""Checks of the quotas: vCPUs by family, EKS, VPC, Lustre; what is used, what the file adds, what is allowed."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.deployed_stack import CLUSTER, FILE_SYSTEM
from training_cluster.account.newest_metric import newest_metric
from training_cluster.nodes.system_nodes import MOST_SYSTEM_NODES
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
from training_workloads.catalog.versions import SYSTEM_INSTANCE_TYPE

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
    wanted: Counter[tuple[str, bool]] = Counter({(SYSTEM_INSTANCE_TYPE, False): MOST_SYSTEM_NODES})
    for group in deployment.config.node_groups.values():
        if group.capacity_reservation_id is None:
            wanted[group.instance_type, group.capacity_type == "SPOT"] += group.spec.maximum
    more: Counter[Quota] = Counter()
    for (kind, spot), count in wanted.items():
        quota = vcpu_quota(kind, spot=spot)
        if quota is None:
            yield skipped(f"vCPUs of {kind}", "AWS's list of quotas names none for Spot instances of this family")
        else:
            # What runs already is a part of what is used.
            more[quota] += max(0, count - deployment.running[kind, spot]) * INSTANCE_TYPES[kind].vcpus
    for quota, vcpus in more.items():
        yield _result(deployment, quota, used=None, more=vcpus, unit="vCPUs")


def eks_quota_allows_the_cluster(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the number of clusters with the quota."""
    used = len(deployment.account.all("eks", "list_clusters", "clusters"))
    yield _result(deployment, EKS_CLUSTERS, used=used, more=int(not _has(deployment, CLUSTER)), unit="clusters")


def vpc_quotas_allow_the_network(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare VPCs, Elastic IP addresses and NAT gateways with the quotas, which are five each by default."""
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
    more = MOST_SYSTEM_NODES - min(MOST_SYSTEM_NODES, deployment.running[SYSTEM_INSTANCE_TYPE, False])
    for group in deployment.config.node_groups.values():
        running = deployment.running[group.instance_type, group.capacity_type == "SPOT"]
        more += max(0, group.spec.maximum - running) * len(group.spec.network_interfaces)
    yield _result(deployment, NETWORK_INTERFACES, used=used, more=more, unit="interfaces, EFA's included")


def fsx_quotas_allow_the_file_system(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the number and the storage of the Lustre file systems of this deployment type with the quotas."""
    spec = deployment.config.lustre.spec
    deployed = _has(deployment, FILE_SYSTEM)
    own = deployment.cluster.ids(FILE_SYSTEM) if deployment.cluster else ()
    found = [
        each
        for each in deployment.account.all("fsx", "describe_file_systems", "FileSystems")
        if each.get("LustreConfiguration", {}).get("DeploymentType") == spec.deployment_type
    ]
    quota = LUSTRE_FILE_SYSTEMS[spec.deployment_type]
    yield _result(deployment, quota, used=len(found), more=int(not deployed), unit="file systems")
    used = sum(each["StorageCapacity"] for each in found)
    has = sum(each["StorageCapacity"] for each in found if each["FileSystemId"] in own)
    more = max(0, spec.capacity_gib - has)
    yield _result(deployment, LUSTRE_CAPACITY[spec.deployment_type], used=used, more=more, unit="GiB")


def _result(deployment: Deployment, quota: Quota, *, used: int | None, more: int, unit: str) -> CheckResult:
    """Return the result for a quota.

    Args:
        deployment: The configuration in its account.
        quota: The quota.
        used: What is used of it now. None: CloudWatch knows it.
        more: What the configuration adds.
        unit: What is counted.
    """
    found = _quota(deployment, quota)
    limit = int(found["Value"])
    used = _usage(deployment, found) if used is None else used
    where = f"aws service-quotas request-service-quota-increase --service-code {quota.service}"
    return decided(
        found.get("QuotaName") or quota.name,
        used + more <= limit,
        actual=f"{limit} {unit}, {used} used",
        needed=f"{more} more" if more else "no more: deployed",
        remedy=f"request {used + more}: {where} --quota-code {quota.code} --desired-value {used + more}",
    )


def _quota(deployment: Deployment, quota: Quota) -> dict[str, Any]:
    request = {"ServiceCode": quota.service, "QuotaCode": quota.code}
    answer: dict[str, Any] = deployment.account.ask("service-quotas", "get_service_quota", **request)["Quota"]
    return answer


def _usage(deployment: Deployment, quota: dict[str, Any]) -> int:
    """Return what is used of a quota, by its metric; without a value nothing is."""
    metric = quota.get("UsageMetric") or {}
    if not metric:
        return 0
    dimensions: dict[str, str] = metric["MetricDimensions"]
    namespace, name = metric["MetricNamespace"], metric["MetricName"]
    found = newest_metric(
        deployment.account,
        namespace,
        name,
        dimensions,
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
    known = deployment.account.ask("ec2", "describe_subnets", SubnetIds=sorted(set(subnets)))["Subnets"]
    zones = {each["SubnetId"]: each["AvailabilityZone"] for each in known}
    return sum(zones.get(subnet) == zone for subnet in subnets)


def _has(deployment: Deployment, kind: str) -> bool:
    return deployment.cluster is not None and bool(deployment.cluster.ids(kind))
