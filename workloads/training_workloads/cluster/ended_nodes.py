"""The nodes that EC2 Auto Scaling ended while a job ran, and by whose wish: Kubernetes forgets a node that is gone.

The causes are quoted by the issues of the rules, and on https://repost.aws/knowledge-center/auto-scaling-instance-how-terminated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.job_summaries import SUCCEEDED, SUSPENDED, moment
from training_workloads.cluster.jobs import ClusterJob
from training_workloads.cluster.resources import NODES
from training_workloads.manifests.values import mapping

__all__ = ["EndedNode", "NodesOfJob", "ended_nodes", "has_lost_pods", "nodes_of_job"]

# The pods of a job are made together; a launcher may be made when its workers are ready.
_STARTING = timedelta(minutes=2)

_TERMINATION = re.compile(r"Terminating EC2 instance: (?P<instance>i-\w+)")
_REGION_LABEL = "topology.kubernetes.io/region"
_CLUSTER_TAG = "eks:cluster-name"

# One request names as many instances: https://docs.aws.amazon.com/autoscaling/ec2/APIReference/
_MOST_INSTANCES = 50

_LOWERED = (
    "a lower desired size of the group: of the autoscaler, whose start of other nodes succeeded in part "
    "(kubernetes/autoscaler#10147), or of a person"
)

# The first pattern that a cause has says who.
_WHO = (
    # https://github.com/aws/containers-roadmap/issues/1453
    (r"to balance instances in zones", "EC2 Auto Scaling, which balanced the zones of the group (AZRebalance)"),
    (r"[Ss]pot", "EC2, which took back Spot capacity"),
    # https://github.com/widdix/aws-cf-templates/issues/149
    (
        r"update of AutoScalingGroup constraints",
        "a change of the sizes of the node group, which a deployment sends together with desired_size",
    ),
    # https://github.com/kubernetes/autoscaler/issues/9182
    (r"difference between desired and actual capacity", _LOWERED),
    # https://github.com/kubernetes/autoscaler/issues/144
    (r"in response to a user request", "the autoscaler (an idle node), EKS (a repair, an update), or a person"),
    (
        r"health.?check|status check",
        "EC2, where the instance stopped or failed: Spot, the end of a Capacity Block, hardware, or a person",
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndedNode:
    """A node that EC2 Auto Scaling ended.

    Attributes:
        at: When that began.
        instance: Its id in EC2.
        group: Its Auto Scaling group.
        who: By whose wish, as far as the cause says it.
        cause: EC2 Auto Scaling's words.
    """

    at: datetime
    instance: str
    group: str
    who: str
    cause: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesOfJob:
    """The nodes by which the Auto Scaling groups of a job are found.

    Attributes:
        region: Their region.
        instances: Their ids in EC2.
        has_workers: Whether a worker is on one of them; else the groups of its workers are not known.
        since: When the job started.
        until: When it ended; None while it has not.
    """

    region: str
    instances: tuple[str, ...]
    has_workers: bool
    since: datetime
    until: datetime | None


def has_lost_pods(job: ClusterJob) -> bool:
    """Return whether a pod of a job is gone, or was made again, since the job started."""
    summary = job.summary
    if summary.started is None or summary.state in (SUCCEEDED, SUSPENDED):
        return False
    made = [moment(pod["metadata"]["creationTimestamp"]) for pod in job.pods]
    if any(each and each > summary.started + _STARTING for each in made):
        return True
    return summary.is_finished or (job.has_run and len(job.workers) < summary.workers)


def nodes_of_job(cluster: Cluster, job: ClusterJob) -> NodesOfJob | None:
    """Return the nodes of a job's pods, or any nodes where its workers have none; None where they cannot be read."""
    summary = job.summary
    nodes: dict[str, dict[str, Any]] = {}
    # A member of a team may not list nodes.
    with suppress(ClusterError):
        nodes = {node["metadata"]["name"]: node for node in cluster.objects(NODES, all_namespaces=True)}
    placed = {pod.node for pod in (*job.launchers, *job.workers)} & set(nodes)
    has_workers = any(pod.node in nodes for pod in (job.workers if job.is_mpi_job else job.launchers))
    chosen = [nodes[name] for name in sorted(placed or nodes)]
    instances = [id for node in chosen if (id := _instance(node))]
    regions = [mapping(node["metadata"].get("labels")).get(_REGION_LABEL) for node in chosen]
    region = next(filter(None, regions), None)
    if not instances or region is None or summary.started is None:
        return None
    return NodesOfJob(
        region=region,
        instances=tuple(instances[:_MOST_INSTANCES]),
        has_workers=has_workers,
        since=summary.started,
        until=summary.finished,
    )


def ended_nodes(scaling: Any, nodes: NodesOfJob) -> tuple[EndedNode, ...]:
    """Return the nodes that ended while a job ran, in the groups of its nodes, the oldest first.

    Args:
        scaling: A client of boto3 for EC2 Auto Scaling.
        nodes: The nodes of the job.
    """
    found = scaling.describe_auto_scaling_instances(InstanceIds=list(nodes.instances))["AutoScalingInstances"]
    groups = {each["AutoScalingGroupName"] for each in found}
    if not nodes.has_workers:
        groups |= _groups_of_cluster(scaling, groups)
    ended = [each for group in sorted(groups) for each in _ended_in(scaling, group, nodes)]
    return tuple(sorted(ended, key=lambda each: (each.at, each.instance)))


def _groups_of_cluster(scaling: Any, groups: Iterable[str]) -> set[str]:
    """Return the groups that have the cluster's tag, as some of its groups have it."""
    if not (names := sorted(groups)):
        return set()
    known = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=names)["AutoScalingGroups"]
    clusters = {tag["Value"] for group in known for tag in group.get("Tags", ()) if tag["Key"] == _CLUSTER_TAG}
    tagged = [{"Name": f"tag:{_CLUSTER_TAG}", "Values": sorted(clusters)}]
    pages = scaling.get_paginator("describe_auto_scaling_groups").paginate(Filters=tagged) if clusters else ()
    return {group["AutoScalingGroupName"] for page in pages for group in page["AutoScalingGroups"]}


def _ended_in(scaling: Any, group: str, nodes: NodesOfJob) -> Iterator[EndedNode]:
    until = nodes.until or datetime.now(UTC)
    # The newest come first.
    for page in scaling.get_paginator("describe_scaling_activities").paginate(AutoScalingGroupName=group):
        for activity in page["Activities"]:
            at = activity["StartTime"]
            if at < nodes.since:
                return
            match = _TERMINATION.match(activity.get("Description", ""))
            if match and at <= until:
                yield _ended(match["instance"], group, at, activity)


def _ended(instance: str, group: str, at: datetime, activity: Mapping[str, Any]) -> EndedNode:
    cause = " ".join(activity.get("Cause", "").split())
    who = next((who for pattern, who in _WHO if re.search(pattern, cause)), "EC2 Auto Scaling")
    return EndedNode(at=at, instance=instance, group=group, who=who, cause=cause)


def _instance(node: Mapping[str, Any]) -> str | None:
    """Return EC2's id of a node, the end of `aws:///us-west-2a/i-0123456789abcdef0`."""
    id = str(mapping(node.get("spec")).get("providerID", "")).rpartition("/")[2]
    return id if id.startswith("i-") else None
