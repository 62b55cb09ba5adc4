"""Namespaces of jobs."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import Cluster, NamespaceNames
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.single_owner import own
from training_workloads.keywords import checked
from training_workloads.platform.job_disruption_budget import JobDisruptionBudgetChart
from training_workloads.platform.team_manifests import pod_security_labels

__all__ = ["Namespaces", "add_namespace"]

_ALWAYS_EXISTS = "default"


class Namespaces(Construct):
    """Namespaces that Kubernetes does not create itself, in which an update of nodes waits for jobs that hold theirs.

    Each rejects pods that need more than Pod Security `restricted`, which all jobs of this project fulfil. A namespace
    that exists is used. One that leaves the app stays in the cluster, with all that others have in it.

    Attributes:
        names: Their names, without `default`.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: Cluster, names: NamespaceNames) -> None:
        """Define the namespaces.

        Args:
            cluster: The cluster.
            names: Their names; `default` always exists and is ignored.

        Raises:
            InputError: The cluster has no kubectl, Kubernetes does not allow a name, or another construct defines the
                namespace.
        """
        super().__init__(scope, id)
        self._cluster = cast(eks.ICluster, cluster)
        self.names: list[str] = []
        self.add(names)

    @checked
    def add(self, names: NamespaceNames) -> None:
        """Define more namespaces; those that exist here, and `default`, are ignored.

        Raises:
            InputError: Kubernetes does not allow a name, or another construct defines the namespace.
        """
        new = sorted(set(names) - {_ALWAYS_EXISTS, *self.names})
        for name in new:
            add_namespace(self, name, cluster=self._cluster, labels=pod_security_labels())
        self.names = sorted([*self.names, *new])


def add_namespace(
    scope: Construct,
    name: str,
    *,
    cluster: eks.ICluster,
    labels: Mapping[str, str],
    documents: Iterable[dict[str, Any]] = (),
) -> eks.KubernetesManifest:
    """Define a namespace with its labels, the budget of its jobs, and more documents in it.

    Raises:
        InputError: Another construct defines the namespace.
    """
    own(scope, cluster, f"namespace {name}")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    budget = JobDisruptionBudgetChart(cdk8s.App(), "DisruptionBudget", namespace=name).to_json()
    return apply_manifest(scope, name, cluster=cluster, documents=[namespace, *budget, *documents])
