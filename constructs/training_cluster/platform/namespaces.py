"""Namespaces of jobs."""

from collections.abc import Iterable

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

__all__ = ["Namespaces"]

_ALWAYS_THERE = "default"


class Namespaces(Construct):
    """Namespaces that Kubernetes does not bring along.

    Attributes:
        names: Those that are made.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster, names: Iterable[str]) -> None:
        """Defines the namespaces.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster.
            names: Their names; `default` is there already and is left alone.
        """
        super().__init__(scope, id)
        self.names = sorted(set(names) - {_ALWAYS_THERE})
        for name in self.names:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            eks.KubernetesManifest(self, name, cluster=cluster, manifest=[manifest])
