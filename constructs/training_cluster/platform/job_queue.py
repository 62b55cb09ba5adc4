"""Kueue and one queue of jobs: a job waits until the quota of a node group has room for all of its pods."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, cast

import jsii
from aws_cdk import Annotations, AspectPriority, Aspects, IAspect, IStableAnyProducer, IStableStringProducer, Lazy
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct, IConstruct

from training_cluster.checks import Cluster, Mirror, NamespaceNames, as_tuple, is_a
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import ClusterDefaults, after_namespaces, after_node_addons
from training_cluster.platform.helm_release import helm_release
from training_cluster.platform.kueue_values import IMAGE_VALUE, configuration, configuration_hash, values
from training_cluster.single_owner import own
from training_workloads.catalog.images import KUEUE_IMAGE
from training_workloads.catalog.nodes import HOSTNAME_LABEL
from training_workloads.catalog.versions import KUEUE
from training_workloads.keywords import checked, keywords_of
from training_workloads.names import dns_label, dns_subdomain
from training_workloads.platform.queue_manifests import (
    KUEUE_NAMESPACE,
    LAUNCHER_FLAVOR,
    MOST_FLAVORS,
    QueuedNodes,
    cluster_queue,
    flavor_name,
    launcher_flavor,
    launcher_quota,
    local_queue,
    queue_spec,
    topology_name,
    topology_of,
)
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Path, Problem, Problems, at_least, check

__all__ = ["MAX_JOBS", "QUEUE_NAME", "JobQueue", "JobQueueOptions", "JobQueueSpec", "fits_a_topology", "valid_flavor"]

#: The name that jobs give, unless another is given.
QUEUE_NAME = "gpu"

#: Launchers of 2 GiB and 250 millicores that fit on the two system nodes of 16 GiB, beside 4 GiB of daemons, the
#: kubelet and the cluster's services, two pods of Kueue among them, on each (derived).
MAX_JOBS = 12


class _NodeGroup(Protocol):
    """The attributes of a `GpuNodeGroup`, which is defined in a layer above, that a queue reads."""

    name: str
    spec: Any


@dataclass(frozen=True)
class _Share:
    """The part of a team: its GPUs by node group."""

    namespace: str
    gpus: Mapping[str, int]


@jsii.implements(IStableAnyProducer)
class _Quota:
    """The quota of a team, or of the jobs outside teams, when the template is made: parts may be added until then."""

    def __init__(self, queue: "JobQueue", team: str | None = None) -> None:
        self._queue, self._team = queue, team

    def produce(self) -> Any:
        queue, teams = self._queue, self._queue.teams
        nodes = sorted(queue.nodes, key=lambda nodes: nodes.preference)
        # Each team's launchers have an equal part of the places.
        launchers = queue.max_jobs // (len(teams) + 1)
        if self._team is None:
            taken = {each.group: [share.gpus.get(each.group, 0) for share in teams.values()] for each in nodes}
            flavors = [each.quota(without=taken[each.group]) for each in nodes]
            rest = launcher_quota(queue.max_jobs - launchers * len(teams))
            return queue_spec([*flavors, rest], cohort=queue.queue_name if teams else None)
        share = teams[self._team]
        flavors = [each.share(share.gpus.get(each.group, 0)) for each in nodes]
        whole = [*flavors, launcher_quota(launchers)]
        return queue_spec(whole, namespace=share.namespace, cohort=queue.queue_name)


@jsii.implements(IStableStringProducer)
class _Configuration:
    """Kueue's configuration, or its hash, when the template is made: namespaces may be added until then."""

    def __init__(self, queue: "JobQueue", *, hashed: bool) -> None:
        self._queue, self._hashed = queue, hashed

    def produce(self) -> str:
        text = configuration(self._queue.namespaces, fair_sharing=bool(self._queue.teams))
        return configuration_hash(text) if self._hashed else text


@jsii.implements(IAspect)
class _WithoutGroups:
    """Warns of a queue without node groups at the end of the synthesis: groups may be added until then."""

    def __init__(self, queue: "JobQueue") -> None:
        self._queue = queue

    def visit(self, node: IConstruct) -> None:
        if node is self._queue and not self._queue.nodes:
            Annotations.of(node).add_warning_v2(
                "cdk-training-cluster:queue-without-groups",
                "the queue counts no GPU node group: each job that requests GPUs waits for ever; give node_groups, or "
                "call add_node_group",
            )


def _group(name: str, group: Any) -> Problems:
    if not (is_a(group, "spec") and is_a(group, "node_group")):
        yield Problem(path=(name,), given=group, fix="give GpuNodeGroups, such as cluster.gpu_node_groups")


def _groups(name: str, groups: Iterable[Any]) -> Problems:
    for group in groups:
        yield from _group(name, group)


class JobQueueSpec(Spec):
    """The queue of jobs.

    Attributes:
        queue_name: Its name, which jobs give as their queue.
        topology: Whether Kueue chooses nodes close to each other (topology-aware scheduling), by placement group, by
            the node labels of EKS for the network and by hostname. It counts the nodes that run, so each group needs a
            fixed size.
        max_jobs: Jobs that run at once: the quota of their launchers, on the nodes without GPUs. The default fits on
            the system nodes of a `TrainingCluster`.
    """

    queue_name: Annotated[str, Checked(dns_label)] = QUEUE_NAME
    topology: bool = False
    max_jobs: Annotated[int, Checked(at_least, 1)] = MAX_JOBS


class JobQueueOptions(JobQueueSpec):
    """The keywords of `add_job_queue`.

    Attributes:
        mirror: ECR registry with copies of chart and image. Default: Kueue's registry.
    """

    mirror: Mirror | None = None


class JobQueueProps(JobQueueOptions):
    """The keywords of `JobQueue`.

    Attributes:
        cluster: The cluster with the nodes: ours or one of `aws_eks_v2`.
        node_groups: The `GpuNodeGroup`s that it counts. Default: those that `add_node_group` adds.
        namespaces: Namespaces whose jobs can enter it; `default` always can. Default: no other.
    """

    cluster: Cluster
    node_groups: Annotated[Iterable[_NodeGroup], Checked(_groups, read=as_tuple, typed=tuple[Any, ...])] = ()
    namespaces: NamespaceNames = ()


class JobQueue(Construct):
    """Kueue, a flavor for each GPU node group, the quota of all at their maximum size, and an entrance per namespace.

    A job names the queue and is suspended until all of its pods have quota. Its workers get the quota of one flavor,
    and so stay in one node group: in one placement group, or in one reservation.

    Attributes:
        queue_name: Name of the queue, which jobs give.
        nodes: The nodes that the queue counts, by node group.
        namespaces: Namespaces whose jobs can enter.
        max_jobs: Jobs that run at once.
        teams: The parts of the teams, by name.
        chart: The Helm release of Kueue, with its resource definitions.
    """

    @keywords_of(JobQueueProps)
    def __init__(self, scope: Construct, id: str, props: JobQueueProps) -> None:
        """Define Kueue and the queue.

        Raises:
            InputError: The cluster has a queue from another construct, Kubernetes does not allow a name, two node
                groups have one name, there are more than 63, or with a topology one has no fixed size, or is in a
                Capacity Block.
        """
        super().__init__(scope, id)
        cluster = props.cluster
        own(self, cluster, "queue of jobs")
        self._cluster, self._topology = cast(eks.ICluster, cluster), props.topology
        self.queue_name, self.max_jobs = props.queue_name, props.max_jobs
        self.nodes: list[QueuedNodes] = []
        self.namespaces: list[str] = []
        self.teams: dict[str, _Share] = {}
        self.chart = self._kueue(props.mirror)
        after_node_addons(self, cluster)
        if isinstance(cluster, ClusterDefaults):
            cluster.order_of_admission().add(self.chart)
        self._flavors, self._entrances = Construct(self, "Flavors"), Construct(self, "Namespaces")
        self._topologies, self._teams = Construct(self, "Topologies"), Construct(self, "Teams")
        self._flavors.node.add_dependency(self._topologies)
        self._apply(self._flavors, LAUNCHER_FLAVOR, launcher_flavor(self._topology_of((HOSTNAME_LABEL,))))
        quota = cluster_queue(props.queue_name, Lazy.any(_Quota(self)))
        # Kueue keeps a flavor that a queue still names, so the queue goes first.
        self._queue = self._apply(self, "Queue", quota)
        self._queue.node.add_dependency(self._flavors)
        self.add_namespaces(["default", *props.namespaces])
        for group in props.node_groups:
            self.add_node_group(group)
        Aspects.of(self).add(_WithoutGroups(self), priority=AspectPriority.READONLY)

    @property
    def gpus(self) -> dict[str, int]:
        """GPUs of the node groups at their maximum size."""
        return {nodes.group: nodes.gpus for nodes in self.nodes}

    @checked
    def add_node_group(self, group: Annotated[_NodeGroup, Checked(_group)]) -> None:
        """Count the nodes of one more `GpuNodeGroup`.

        Raises:
            InputError: Kubernetes does not allow its name, it is that of another, there are 63 groups, or with a
                topology it has no fixed size, or is in a Capacity Block.
        """
        check(_valid_group(group, [nodes.flavor for nodes in self.nodes], topology=self._topology))
        nodes = _queued(group)
        self.nodes.append(nodes)
        self._apply(self._flavors, nodes.flavor, nodes.resource_flavor(self._topology_of(nodes.levels)))

    def add_namespaces(self, names: Iterable[str]) -> None:
        """Let the jobs of more namespaces enter; those that can enter already are ignored."""
        for namespace in sorted(set(names) - set(self.namespaces)):
            self._add_entrance(namespace, local_queue(self.queue_name, namespace), self._queue)

    def add_team(self, name: str, *, namespace: str, gpus: Mapping[str, int]) -> None:
        """Give a team a part of the quota; teams, and jobs outside of them, lend each other what they do not use.

        Args:
            name: Name of the team.
            namespace: Its namespace, whose jobs name the same queue as others.
            gpus: GPUs that it has by right, by node group.
        """
        self.teams[name] = _Share(namespace, gpus)
        queue = f"{self.queue_name}-{name}"
        quota = self._apply(self._teams, name, cluster_queue(queue, Lazy.any(_Quota(self, name))))
        quota.node.add_dependency(self._flavors)
        self._add_entrance(namespace, local_queue(self.queue_name, namespace, queue), quota)

    def _add_entrance(self, namespace: str, entrance: dict[str, Any], queue: Construct) -> None:
        made = self._apply(self._entrances, namespace, entrance)
        made.node.add_dependency(queue)
        after_namespaces(made, self._cluster, namespace)
        self.namespaces.append(namespace)

    def _kueue(self, mirror: str | None) -> eks.HelmChart:
        text, digest = (Lazy.string(_Configuration(self, hashed=hashed)) for hashed in (False, True))
        return helm_release(
            self,
            "Resource",
            cluster=self._cluster,
            release=KUEUE,
            image=KUEUE_IMAGE,
            values=values(text, digest),
            mirror=mirror,
            namespace=KUEUE_NAMESPACE,
            image_value=IMAGE_VALUE,
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
        manifest = apply_manifest(scope, id, cluster=self._cluster, documents=[document])
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
        reserved=spec.capacity_reservation_id is not None,
        in_placement_group=spec.in_placement_group,
    )


def valid_flavor(path: Path, group: str, taken: Collection[str]) -> Problems:
    """Reject a node group whose flavor Kubernetes rejects, the queue has already, or is one too many."""
    flavor = flavor_name(group)
    if flavor == LAUNCHER_FLAVOR:
        allowed, fix = f"the queue's flavor {flavor!r} is that of the pods without GPUs", "give the group another name"
        yield Problem(path=path, given=group, allowed=allowed, fix=fix)
    elif flavor in taken:
        allowed = f"another group has the flavor {flavor!r}, whose name is in lower case"
        yield Problem(path=path, given=group, allowed=allowed, fix="give one of the two another name")
    elif len(taken) + 1 >= MOST_FLAVORS:
        allowed = f"Kueue allows {MOST_FLAVORS} flavors in a queue: {MOST_FLAVORS - 1} node groups, and the launchers'"
        fix = "leave the group out of the queue, or define a second cluster"
        yield Problem(path=path, given=group, allowed=allowed, fix=fix)
    else:
        for problem in dns_subdomain("group", flavor):
            yield Problem(path=path, given=group, allowed="the queue's flavor has its name", fix=problem.fix)


def fits_a_topology(group: str, spec: Any) -> Problems:
    """Reject a node group whose nodes a topology does not count before they run.

    A Capacity Block's run between its dates only: outside of them the template must ask for none
    (https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html), and a group that can have none now and
    some later has no fixed size (https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/; both read
    2026-11-23).
    """
    if spec.capacity_type == "CAPACITY_BLOCK":
        allowed = (
            f"it needs node groups of a fixed size, and the node group {group!r} has no nodes before its Capacity "
            "Block starts, nor after it"
        )
        yield Problem(
            path=("topology",),
            given=True,
            allowed=allowed,
            fix="omit topology, or define a second cluster for the block",
        )
    elif spec.min_size != spec.maximum:
        yield Problem(
            path=("topology",),
            given=True,
            allowed=f"Kueue counts the nodes that run, and the node group {group!r} has {spec.min_size} to "
            f"{spec.maximum}: no job would be admitted for nodes that the autoscaler could start",
            fix="give min_size and max_size of the group one value, or omit topology",
        )


def _valid_group(group: _NodeGroup, flavors: Collection[str], *, topology: bool) -> Problems:
    """Reject a node group without a flavor, and one whose nodes Kueue cannot choose."""
    yield from valid_flavor(("node_groups",), group.name, flavors)
    if topology:
        yield from fits_a_topology(group.name, group.spec)
