"""The state of a cluster in Kubernetes: nodes with their devices, the platform, jobs, and pods that mount volumes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.deployed_stack import DeployedStack
from training_workloads.catalog import INSTANCE_TYPES
from training_workloads.catalog.nodes import (
    EFA_PRESENT_LABEL,
    EFA_RESOURCE,
    GPU_RESOURCE,
    HOLD_LABEL,
    INSTANCE_TYPE_LABEL,
)
from training_workloads.catalog.versions import EFA_DEVICE_PLUGIN, NVIDIA_DEVICE_PLUGIN
from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.job_summaries import JobSummary, has_ended, is_ready
from training_workloads.cluster.jobs import BATCH_JOB_LABEL, list_jobs
from training_workloads.cluster.kubeconfig import connect
from training_workloads.cluster.resources import DAEMON_SETS, DEPLOYMENTS, NODES, PODS
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.api import JOB_NAME_LABEL
from training_workloads.platform.platform_spec import MPI_OPERATOR_NAMESPACE

__all__ = [
    "ClusterState",
    "NodesOfType",
    "PlatformPart",
    "connect_to",
    "describe_cluster",
    "job_of",
    "jobs_that_hold_nodes",
    "mounting_pods",
    "read_cluster",
]

_OPERATOR = "mpi-operator"


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesOfType:
    """The nodes of one instance type.

    Attributes:
        instance_type: EC2's name of the type.
        nodes: Their number.
        ready: How many of them are ready.
        gpus: GPUs that pods can request.
        expected_gpus: GPUs that the nodes have; None for a type that the catalog does not know.
        efa: EFA devices that pods can request.
        expected_efa: EFA devices that the nodes were started with.
    """

    instance_type: str
    nodes: int
    ready: int
    gpus: int
    expected_gpus: int | None
    efa: int
    expected_efa: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformPart:
    """The pods of the operator or of a device plugin.

    Attributes:
        name: Its name.
        ready: How many are ready.
        wanted: How many should be; None where it is not installed.
    """

    name: str
    ready: int
    wanted: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterState:
    """The state of a cluster in Kubernetes.

    Attributes:
        nodes: The nodes by type.
        platform: Operator and device plugins.
        jobs: The jobs of every namespace, the newest last.
    """

    nodes: tuple[NodesOfType, ...]
    platform: tuple[PlatformPart, ...]
    jobs: tuple[JobSummary, ...]


def describe_cluster(account: Account, stack: DeployedStack) -> Mapping[str, Any]:
    """Return EKS's description of the cluster of a stack."""
    return mapping(account.ask("eks", "describe_cluster", name=stack.cluster_name)["cluster"])


@contextmanager
def connect_to(
    account: Account, stack: DeployedStack, context: str | None, described: Mapping[str, Any] | None = None
) -> Iterator[Cluster]:
    """Connect to the cluster of a stack, by the kubeconfig.

    Args:
        account: The account.
        stack: The stack of the cluster.
        context: Context of the kubeconfig. Default: the current one.
        described: EKS's description of the cluster. Default: EKS is asked.

    Raises:
        ClusterError: The kubeconfig has another cluster, or this one cannot be reached.
    """
    found = describe_cluster(account, stack) if described is None else described
    with connect(context) as cluster:
        # The jobs of another cluster would say nothing about this one.
        if cluster.server.rstrip("/").lower() != str(found.get("endpoint", "")).rstrip("/").lower():
            raise ClusterError(
                f"the kubeconfig's context is of {cluster.server}, not of {stack.cluster_name}",
                f"run 'aws eks update-kubeconfig --region {account.region} --name {stack.cluster_name}', or give "
                "--context",
            )
        yield cluster


def read_cluster(cluster: Cluster) -> ClusterState:
    """Return the state of the cluster in Kubernetes."""
    types: dict[str, list[dict[str, Any]]] = {}
    for node in cluster.objects(NODES, all_namespaces=True):
        types.setdefault(_labels(node).get(INSTANCE_TYPE_LABEL, "unknown"), []).append(node)
    plugins = (NVIDIA_DEVICE_PLUGIN.chart, EFA_DEVICE_PLUGIN.chart)
    sets = cluster.objects(DAEMON_SETS, all_namespaces=True)
    return ClusterState(
        nodes=tuple(_summary(name, types[name]) for name in sorted(types)),
        platform=(_operator(cluster), *(_plugin(name, sets) for name in plugins)),
        jobs=tuple(list_jobs(cluster, all_namespaces=True)),
    )


def mounting_pods(cluster: Cluster) -> list[str]:
    """Return the pods that mount a claim and have not ended, as `namespace/name`: they hold the file system."""
    return [
        f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for pod in cluster.objects(PODS, all_namespaces=True)
        if not has_ended(pod) and any("persistentVolumeClaim" in each for each in pod["spec"].get("volumes") or [])
    ]


def jobs_that_hold_nodes(cluster: Cluster) -> list[str]:
    """Return the jobs whose pods the budget of their namespace holds, as `name in namespace`; a pod of no job too."""
    pods = cluster.objects(PODS, all_namespaces=True, labels=f"{HOLD_LABEL}=true")
    return sorted(
        {
            f"{job_of(pod) or pod['metadata']['name']} in {pod['metadata']['namespace']}"
            for pod in pods
            if not has_ended(pod)
        }
    )


def job_of(pod: dict[str, Any]) -> str | None:
    """Return the name of a pod's job; None for a pod of no job."""
    # The launcher of an MPIJob has the label of the Job that makes it too.
    labels = _labels(pod)
    return labels.get(JOB_NAME_LABEL) or labels.get(BATCH_JOB_LABEL)


def _summary(name: str, nodes: list[dict[str, Any]]) -> NodesOfType:
    instance = INSTANCE_TYPES.get(name)
    with_efa = sum(_labels(node).get(EFA_PRESENT_LABEL) == "true" for node in nodes)
    return NodesOfType(
        instance_type=name,
        nodes=len(nodes),
        ready=sum(map(is_ready, nodes)),
        gpus=sum(_allocatable(node, GPU_RESOURCE) for node in nodes),
        expected_gpus=instance.gpus * len(nodes) if instance else None,
        efa=sum(_allocatable(node, EFA_RESOURCE) for node in nodes),
        expected_efa=instance.efa_interfaces * with_efa if instance else None,
    )


def _labels(found: dict[str, Any]) -> Mapping[str, str]:
    return mapping(found["metadata"].get("labels"))


def _allocatable(node: dict[str, Any], resource: str) -> int:
    return int(mapping(mapping(node.get("status")).get("allocatable")).get(resource, 0))


def _operator(cluster: Cluster) -> PlatformPart:
    for each in cluster.objects(DEPLOYMENTS, all_namespaces=True):
        if (each["metadata"]["namespace"], each["metadata"]["name"]) == (MPI_OPERATOR_NAMESPACE, _OPERATOR):
            ready = mapping(each.get("status")).get("readyReplicas", 0)
            return PlatformPart(name=_OPERATOR, ready=ready, wanted=each["spec"].get("replicas", 1))
    return PlatformPart(name=_OPERATOR, ready=0, wanted=None)


def _plugin(name: str, sets: list[dict[str, Any]]) -> PlatformPart:
    # A Helm release may have another name before the chart's.
    status = [each.get("status") or {} for each in sets if name in each["metadata"]["name"]]
    if not status:
        return PlatformPart(name=name, ready=0, wanted=None)
    ready, wanted = (sum(each.get(key, 0) for each in status) for key in ("numberReady", "desiredNumberScheduled"))
    return PlatformPart(name=name, ready=ready, wanted=wanted)
