"""What the rules of a plan ask about the deployed cluster, from AWS and from Kubernetes; nothing is changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from training_cluster.account.account_requests import Account
from training_cluster.account.cluster_state import connect_to, job_of
from training_cluster.account.deployed_stack import DeployedStack
from training_cluster.account.kept_resources import KeptResource, priced
from training_cluster.account.lustre_state import LustreState, read_lustre
from training_cluster.changes.findings import Jobs, LiveNodeGroup
from training_cluster.changes.planned_stack import SYSTEM_GROUP
from training_workloads.aws.errors import RejectionError
from training_workloads.catalog.nodes import HOLD_LABEL, INSTANCE_TYPE_LABEL, NODE_GROUP_LABEL
from training_workloads.cluster.job_summaries import has_ended
from training_workloads.cluster.resources import NODES, PODS
from training_workloads.manifests.values import mapping

__all__ = ["LiveCluster"]


@dataclass(frozen=True, kw_only=True)
class LiveCluster:
    """The cluster of a stack.

    Attributes:
        account: The account.
        stack: The stack of the cluster.
        context: Context of the kubeconfig. Default: the current one.
    """

    account: Account
    stack: DeployedStack
    context: str | None = None

    def node_group(self, id: str) -> LiveNodeGroup | None:
        """Return a node group by its physical id, `cluster/name`; None if there is none."""
        # The cluster of a node group may be of another stack.
        cluster, _, name = id.rpartition("/")
        names = {"clusterName": cluster or self.stack.cluster_name, "nodegroupName": name}
        found = self.account.find("eks", "describe_nodegroup", "ResourceNotFoundException", **names)
        if found is None:
            return None
        group = found["nodegroup"]
        issues = group.get("health", {}).get("issues", ())
        return LiveNodeGroup(
            status=group["status"],
            desired=group.get("scalingConfig", {}).get("desiredSize", 0),
            issues=tuple(f"{each['code']}: {each.get('message', '')}" for each in issues),
        )

    def lustre(self, id: str) -> LustreState | None:
        """Return the state of a file system; None if there is none."""
        return read_lustre(self.account, id)

    def kept(self, kind: str, id: str) -> KeptResource:
        """Return a resource that stays, with its size and price where these can be read."""
        return priced(self.account, kind, id)

    def importers(self, export: str) -> list[str]:
        """Return the stacks that import an export."""
        try:
            return list(self.account.all("cloudformation", "list_imports", "Imports", ExportName=export))
        except RejectionError as error:
            if "is not imported" not in str(error):
                raise
            return []

    def jobs_on(self, group: str) -> Jobs:
        """Return the jobs on the nodes of a node group, by its name in cluster.yaml.

        Raises:
            ClusterError: The cluster cannot be read.
        """
        pods = [each for each in self._pods if each.group == group]
        held = {each.job for each in pods if each.is_held}
        return Jobs(
            held=tuple(sorted(held)),
            others=tuple(sorted({each.job for each in pods} - held)),
            by_type=tuple(sorted({each.job for each in pods if INSTANCE_TYPE_LABEL in each.selected})),
            by_group=tuple(sorted({each.job for each in pods if NODE_GROUP_LABEL in each.selected})),
        )

    def jobs_in(self, namespace: str | None) -> tuple[str, ...]:
        """Return the jobs with pods in a namespace; None: in all.

        Raises:
            ClusterError: The cluster cannot be read.
        """
        return tuple(sorted({each.job for each in self._pods if namespace in (None, each.namespace)}))

    @cached_property
    def _pods(self) -> list["_Pod"]:
        """The pods of jobs that have not ended."""
        with connect_to(self.account, self.stack, self.context) as cluster:
            nodes = cluster.objects(NODES, all_namespaces=True)
            pods = cluster.objects(PODS, all_namespaces=True)
        groups = {node["metadata"]["name"]: _labels(node).get(NODE_GROUP_LABEL, SYSTEM_GROUP) for node in nodes}
        return [
            _Pod(
                job=f"{job} in {pod['metadata']['namespace']}",
                namespace=pod["metadata"]["namespace"],
                group=groups.get(pod["spec"].get("nodeName", "")),
                is_held=_labels(pod).get(HOLD_LABEL) == "true",
                selected=frozenset(pod["spec"].get("nodeSelector") or ()),
            )
            for pod in pods
            if not has_ended(pod) and (job := job_of(pod))
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pod:
    """A pod of a job.

    Attributes:
        job: The job, as `name in namespace`.
        namespace: Its namespace.
        group: The node group of its node, by the name in cluster.yaml; None where it waits.
        is_held: Whether it may not be evicted.
        selected: The labels of nodes that it names.
    """

    job: str
    namespace: str
    group: str | None
    is_held: bool
    selected: frozenset[str]


def _labels(found: Mapping[str, Any]) -> Mapping[str, str]:
    return mapping(found["metadata"].get("labels"))
