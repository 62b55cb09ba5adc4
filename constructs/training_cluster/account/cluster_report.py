"""The report of `trainctl cluster status`: stacks, nodes, platform, file systems, jobs, price by the hour."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

from training_cluster.account.account_requests import Account
from training_cluster.account.cluster_state import ClusterState, connect_to, read_cluster
from training_cluster.account.deployed_stack import (
    FILE_SYSTEM,
    DeployedStack,
    find_stack,
    kubernetes_release,
    running_nodes,
)
from training_cluster.account.deployed_template import deployed_template
from training_cluster.account.kept_resources import ELASTIC_FILE_SYSTEM, elastic_bytes
from training_cluster.account.lustre_state import LustreState, read_lustre
from training_cluster.account.node_releases import NodeRelease, read_releases
from training_cluster.monitoring.cost import CostEstimate, found_cost
from training_cluster.nodes.node_parts import CLUSTER_TAG
from training_workloads.aws.errors import RequestError
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.provisioned_storage import FREE_IOPS, FREE_MIB_PER_SECOND, RootVolume
from training_workloads.cluster.failures import ClusterError
from training_workloads.manifests.values import GI
from training_workloads.validation import InputError

__all__ = ["ClusterReport", "report_cluster"]

_NOT_DEPLOYED = "not deployed"

# How the outputs with the ids of the Lustre file systems begin.
_FILE_SYSTEM_OUTPUT = "FileSystemId"

_Part = TypeVar("_Part")


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterReport:
    """The resources that run in the account.

    Attributes:
        stacks: The state of each stack by its name.
        cluster: EKS's name of the cluster; None without one.
        instances: The nodes that EC2 runs, and bills, by type.
        releases: The releases of the AMI of its node groups.
        kubernetes: The state that Kubernetes knows; None where it cannot be asked.
        file_systems: The Lustre file systems that jobs mount, also one that existed before the cluster.
        usd_per_hour: What costs by the hour, at On-Demand prices, without that of `unpriced`; None without a cluster.
        unpriced: What runs and has no price in the catalog.
        price: The same as a sentence, with the costs that it omits.
        notes: The parts that could not be read, and why.
    """

    stacks: Mapping[str, str]
    cluster: str | None = None
    instances: Mapping[str, int] = field(default_factory=dict)
    releases: tuple[NodeRelease, ...] = ()
    kubernetes: ClusterState | None = None
    file_systems: tuple[LustreState, ...] = ()
    usd_per_hour: float | None = None
    unpriced: tuple[str, ...] = ()
    price: str = ""
    notes: tuple[str, ...]


def report_cluster(account: Account, cluster_stack: str, data_stack: str, context: str | None) -> ClusterReport:
    """Return the resources that run in the account: those of the cluster's stack, and the state of the data stack.

    Raises:
        AwsError: There are no valid credentials, there is no region, or AWS cannot be reached.
    """
    _ = account.identity
    notes: list[str] = []
    stack = _noted(notes, "the stack", lambda: find_stack(account, cluster_stack))
    data = _noted(notes, "the data stack", lambda: find_stack(account, data_stack))
    found = {cluster_stack: stack, data_stack: data}
    states = {name: each.status if each else _NOT_DEPLOYED for name, each in found.items()}
    if stack is None:
        return ClusterReport(stacks=states, notes=tuple(notes))
    instances = _instances(notes, account, stack)
    file_systems = _file_systems(notes, account, stack)
    price = _price(notes, account, stack, instances, file_systems)
    return ClusterReport(
        stacks=states,
        cluster=stack.cluster_name,
        instances=instances,
        releases=_noted(notes, "the releases of the AMI", lambda: _releases(account, stack)) or (),
        kubernetes=_noted(notes, "Kubernetes", lambda: _kubernetes(account, stack, context)),
        file_systems=file_systems,
        usd_per_hour=price.usd_per_hour,
        unpriced=price.unpriced,
        price=str(price),
        notes=tuple(notes),
    )


def _releases(account: Account, stack: DeployedStack) -> tuple[NodeRelease, ...]:
    # A cluster of CDK has its groups in the same stack.
    if not stack.ids("AWS::EKS::Nodegroup"):
        return ()
    return read_releases(account, stack, deployed_template(account, stack.name))


def _price(
    notes: list[str],
    account: Account,
    stack: DeployedStack,
    instances: Mapping[str, int],
    file_systems: Iterable[LustreState],
) -> CostEstimate:
    release = _noted(notes, "the Kubernetes release", lambda: kubernetes_release(account, stack))
    own = stack.ids(FILE_SYSTEM)
    return found_cost(
        nodes=instances,
        root_volumes=_noted(notes, "the volumes", lambda: _root_volumes(account, stack)),
        # One that existed before the cluster costs with and without it.
        lustre=tuple(each.storage for each in file_systems if each.id in own),
        efs_gib=_noted(notes, "what EFS holds", lambda: _elastic_gib(account, stack)),
        nat_gateways=len(stack.ids("AWS::EC2::NatGateway")),
        interface_endpoints=_noted(notes, "the endpoints", lambda: _endpoint_interfaces(account, stack)) or 0,
        # Without its dates the price is that of standard support.
        kubernetes_version=release if release in KUBERNETES_RELEASES else None,
        today=date.today(),
    )


def _root_volumes(account: Account, stack: DeployedStack) -> Counter[RootVolume]:
    """Return the volumes of the nodes, which have the tag of their launch template."""
    if stack.cluster_name is None:
        return Counter()
    ours = [{"Name": f"tag:{CLUSTER_TAG}", "Values": [stack.cluster_name]}, {"Name": "volume-type", "Values": ["gp3"]}]
    found = account.all("ec2", "describe_volumes", "Volumes", Filters=ours)
    return Counter(map(_root_volume, found))


def _root_volume(volume: Mapping[str, Any]) -> RootVolume:
    iops, speed = volume.get("Iops", FREE_IOPS), volume.get("Throughput", FREE_MIB_PER_SECOND)
    return RootVolume(gib=volume["Size"], iops=iops, mib_per_second=speed)


def _elastic_gib(account: Account, stack: DeployedStack) -> float:
    return sum(elastic_bytes(account, id) for id in stack.ids(ELASTIC_FILE_SYSTEM)) / GI


def _endpoint_interfaces(account: Account, stack: DeployedStack) -> int:
    """Return how many interfaces AWS bills by the hour: each endpoint has one in each of its zones."""
    ids = stack.ids("AWS::EC2::VPCEndpoint")
    found = account.all("ec2", "describe_vpc_endpoints", "VpcEndpoints", VpcEndpointIds=list(ids)) if ids else []
    # The others, those of S3, cost nothing.
    return sum(len(each["SubnetIds"]) for each in found if each["VpcEndpointType"] == "Interface")


def _instances(notes: list[str], account: Account, stack: DeployedStack) -> Counter[str]:
    found = _noted(notes, "the instances", lambda: running_nodes(account, stack)) or Counter()
    types: Counter[str] = Counter()
    for kind, count in found.items():
        types[kind.instance_type] += count
    return types


def _kubernetes(account: Account, stack: DeployedStack, context: str | None) -> ClusterState | None:
    if stack.cluster_name is None:
        return None
    with connect_to(account, stack, context) as cluster:
        return read_cluster(cluster)


def _file_systems(notes: list[str], account: Account, stack: DeployedStack) -> tuple[LustreState, ...]:
    # One that existed before the cluster is an output, and no resource of the stack.
    outputs = (value for name, value in stack.outputs.items() if name.startswith(_FILE_SYSTEM_OUTPUT))
    ids = dict.fromkeys((*stack.ids(FILE_SYSTEM), *outputs))
    read = (_noted(notes, f"file system {id}", lambda id=id: read_lustre(account, id)) for id in ids)  # type: ignore[misc]
    return tuple(each for each in read if each)


def _noted(notes: list[str], what: str, read: Callable[[], _Part]) -> _Part | None:
    """Return a part of the report; where it cannot be read, note why."""
    try:
        return read()
    except (ClusterError, InputError, RequestError) as error:
        notes.append(f"{what}: {error}")
    return None
