"""Kueue and one queue of jobs: a job waits until the quota of a node group has room for all of its pods."""

from collections.abc import Iterable
from typing import Any, Protocol, cast

import jsii
from aws_cdk import IStableAnyProducer, Lazy
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import is_a, valid_cluster, valid_flag, valid_mirror
from training_cluster.lifecycle import after_namespaces, after_node_addons
from training_cluster.platform.helm_release import helm_release
from training_cluster.single_owner import own
from training_workloads.catalog.network_layers import HOSTNAME_LABEL
from training_workloads.catalog.versions import KUEUE
from training_workloads.names import dns_label
from training_workloads.platform.queue_manifests import (
    LAUNCHER_FLAVOR,
    QueuedNodes,
    cluster_queue,
    launcher_flavor,
    launcher_quota,
    local_queue,
    topology_name,
    topology_of,
)
from training_workloads.validation import Problem, Problems, at_least, check

__all__ = ["MAX_JOBS", "JobQueue"]

#: Launchers of 2 GiB and 250 millicores that fit on the two system nodes of 16 GiB, beside 3 GiB of daemons and the
#: kubelet on each (derived), as `worker_resources` leaves them out.
MAX_JOBS = 13

# Kueue's own; its webhooks leave out the pods of this namespace.
_NAMESPACE = "kueue-system"

_VALUES = {
    "controllerManager": {
        # Kueue would end a job whose pods do not all run within 30 minutes, and queue it again: an elastic job that
        # trains with fewer workers, and one that waits for large instances to start. The operator reports that a job
        # runs when all workers do. SageMaker HyperPod's add-on of Kueue sets the same.
        # https://github.com/kubernetes-sigs/kueue/releases/tag/v0.19.0 (read 2026-11-23)
        "featureGates": [{"name": "DisableWaitForPodsReady", "enabled": True}]
    }
}
_IMAGE_VALUE = ("controllerManager", "manager", "image")


class _NodeGroup(Protocol):
    """What a queue reads from a `GpuNodeGroup`, which is defined in a layer above."""

    name: str
    spec: Any


@jsii.implements(IStableAnyProducer)
class _Flavors:
    """The quotas of the flavors when the template is made: node groups may be added until then."""

    def __init__(self, queue: "JobQueue") -> None:
        self._queue = queue

    def produce(self) -> Any:
        return [*(nodes.quota() for nodes in self._queue.nodes), launcher_quota(self._queue.max_jobs)]


class JobQueue(Construct):
    """Kueue, a flavor for each GPU node group, the quota of all at their maximum size, and an entrance per namespace.

    A job names the queue and is suspended until all of its pods have quota. Its workers get the quota of one flavor,
    and so stay in one node group: in one placement group, or in one reservation.

    Attributes:
        name: Name of the queue, which jobs give.
        nodes: What the queue counts, by node group.
        max_jobs: Jobs that run at once.
        chart: The Helm release of Kueue, with its resource definitions.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster | eks.Cluster,
        node_groups: Iterable[_NodeGroup] = (),
        namespaces: Iterable[str] = (),
        name: str = "gpu",
        topology: bool = False,
        max_jobs: int = MAX_JOBS,
        mirror: str | None = None,
    ) -> None:
        """Define Kueue and the queue.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the nodes: ours or one of `aws_eks_v2`.
            node_groups: The `GpuNodeGroup`s that it counts. Default: those that `add_node_group` adds.
            namespaces: Namespaces whose jobs can enter it; `default` always can. Default: no other.
            name: Its name, which jobs give as their queue. Default: gpu.
            topology: Whether Kueue chooses nodes close to each other (topology-aware scheduling), by the node labels of
                EKS for the network and by hostname. It counts the nodes that run, so each group needs a fixed size.
                Default: no.
            max_jobs: Jobs that run at once: the quota of their launchers, on the nodes without GPUs. Default: what fits
                on the system nodes of a `TrainingCluster`.
            mirror: ECR registry with copies of chart and image. Default: Kueue's registry.

        Raises:
            InputError: The cluster has a queue from another construct, Kubernetes does not allow a name, two node
                groups have one name, or with a topology one has no fixed size.
        """
        super().__init__(scope, id)
        check(
            valid_cluster("cluster", cluster),
            dns_label("name", name),
            valid_flag("topology", topology),
            at_least("max_jobs", max_jobs, 1),
            valid_mirror(mirror),
        )
        own(self, cluster, "queue of jobs")
        self._cluster, self._topology = cast(eks.ICluster, cluster), topology
        self.name, self.max_jobs = name, max_jobs
        self.nodes: list[QueuedNodes] = []
        self._namespaces: set[str] = set()
        self.chart = self._kueue(mirror)
        after_node_addons(self, cluster)
        self._flavors, self._entrances = Construct(self, "Flavors"), Construct(self, "Namespaces")
        self._topologies = Construct(self, "Topologies")
        self._flavors.node.add_dependency(self._topologies)
        self._apply(self._flavors, LAUNCHER_FLAVOR, launcher_flavor(self._topology_of((HOSTNAME_LABEL,))))
        quota = cluster_queue(name, Lazy.any(_Flavors(self)))
        # Kueue keeps a flavor that a queue still names, so the queue goes first.
        self._queue = self._apply(self, "Queue", quota)
        self._queue.node.add_dependency(self._flavors)
        self.add_namespaces(["default", *namespaces])
        for group in node_groups:
            self.add_node_group(group)

    def add_node_group(self, group: _NodeGroup) -> None:
        """Count the nodes of one more node group.

        Args:
            group: A `GpuNodeGroup`.

        Raises:
            InputError: Its name is that of another, or with a topology it has no fixed size.
        """
        check(_valid_group(group, {nodes.flavor for nodes in self.nodes}, topology=self._topology))
        nodes = _queued(group)
        self.nodes.append(nodes)
        self._apply(self._flavors, nodes.flavor, nodes.resource_flavor(self._topology_of(nodes.levels)))

    def add_namespaces(self, names: Iterable[str]) -> None:
        """Let the jobs of more namespaces enter.

        Args:
            names: Their names; those that can enter already are ignored.
        """
        for namespace in sorted(set(names) - self._namespaces):
            entrance = self._apply(self._entrances, namespace, local_queue(self.name, namespace))
            entrance.node.add_dependency(self._queue)
            after_namespaces(entrance, self._cluster, namespace)
            self._namespaces.add(namespace)

    def _kueue(self, mirror: str | None) -> eks.HelmChart:
        return helm_release(
            self,
            "Resource",
            cluster=self._cluster,
            release=KUEUE,
            values=_VALUES,
            mirror=mirror,
            namespace=_NAMESPACE,
            image_value=_IMAGE_VALUE,
            # Its webhook checks the queue's objects.
            wait=True,
        )

    def _topology_of(self, levels: tuple[str, ...]) -> str | None:
        """Return the name of the topology with these levels, None without any; the first call for them defines it."""
        if not self._topology:
            return None
        name = topology_name(levels)
        if not self._topologies.node.try_find_child(name):
            self._apply(self._topologies, name, topology_of(levels))
        return name

    def _apply(self, scope: Construct, id: str, document: dict[str, Any]) -> eks.KubernetesManifest:
        manifest = eks.KubernetesManifest(scope, id, cluster=self._cluster, manifest=[document])
        manifest.node.add_dependency(self.chart)
        return manifest


def _queued(group: _NodeGroup) -> QueuedNodes:
    spec = group.spec
    return QueuedNodes(
        group=group.name,
        instance=spec.instance,
        nodes=spec.maximum,
        efa_interfaces=spec.efa_interfaces,
        capacity_type=spec.capacity_type,
    )


def _valid_group(group: Any, flavors: set[str], *, topology: bool) -> Problems:
    """Reject what is no node group, one with the name of another, and one that Kueue cannot choose nodes of."""
    if not (is_a(group, "spec") and is_a(group, "node_group")):
        yield Problem(path=("node_groups",), given=group, fix="give GpuNodeGroups, such as cluster.gpu_node_groups")
        return
    flavor, spec = _queued(group).flavor, group.spec
    if flavor in flavors | {LAUNCHER_FLAVOR}:
        allowed = f"the queue has a flavor {flavor!r} already"
        yield Problem(path=("node_groups",), given=group.name, allowed=allowed, fix="give the group another id")
    if topology and spec.min_size != spec.maximum:
        # https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/ (read 2026-11-23)
        yield Problem(
            path=("topology",),
            given=True,
            allowed=f"Kueue counts the nodes that run, and the node group {group.name!r} has {spec.min_size} to "
            f"{spec.maximum}: no job would be admitted for nodes that the autoscaler could start",
            fix="give min_size and max_size of the group one value, or omit topology",
        )
