"""Namespaces of jobs."""

from typing import cast

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import Cluster, NamespaceNames
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.single_owner import own
from training_workloads.keywords import checked
from training_workloads.platform.job_disruption_budget import JobDisruptionBudgetChart

__all__ = ["Namespaces"]

_ALWAYS_EXISTS = "default"


class Namespaces(Construct):
    """Namespaces that Kubernetes does not create itself, in which an update of nodes waits for jobs that hold theirs.

    A namespace that exists is used. One that leaves the app stays in the cluster, with all that others have in it.

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
            own(self, self._cluster, f"namespace {name}")
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            budget = JobDisruptionBudgetChart(cdk8s.App(), "DisruptionBudget", namespace=name).to_json()
            apply_manifest(self, name, cluster=self._cluster, documents=[namespace, *budget])
        self.names = sorted([*self.names, *new])
