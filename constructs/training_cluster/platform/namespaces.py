"""Namespaces of jobs."""

from collections.abc import Iterable
from typing import cast

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import valid_cluster
from training_workloads.validation import check

__all__ = ["Namespaces"]

_ALWAYS_EXISTS = "default"


class Namespaces(Construct):
    """Namespaces that Kubernetes does not create itself.

    Attributes:
        names: Their names, without `default`.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster | eks.Cluster, names: Iterable[str]) -> None:
        """Define the namespaces.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster.
            names: Their names; `default` always exists and is ignored.
        """
        super().__init__(scope, id)
        check(valid_cluster("cluster", cluster))
        self.names = sorted(set(names) - {_ALWAYS_EXISTS})
        for name in self.names:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            eks.KubernetesManifest(self, name, cluster=cast(eks.ICluster, cluster), manifest=[manifest])
