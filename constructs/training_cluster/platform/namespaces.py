"""Namespaces of jobs."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

from aws_cdk import Token
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import valid_cluster, valid_list
from training_workloads.names import dns_label
from training_workloads.validation import Problems, check

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

        Raises:
            InputError: The cluster has no kubectl, or Kubernetes does not allow a name.
        """
        super().__init__(scope, id)
        given = names if isinstance(names, str) else list(names)
        check(valid_cluster("cluster", cluster), _valid_names(given))
        self.names = sorted(set(given) - {_ALWAYS_EXISTS})
        for name in self.names:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            eks.KubernetesManifest(self, name, cluster=cast(eks.ICluster, cluster), manifest=[manifest])


def _valid_names(names: Any) -> Problems:
    """Reject one name in the place of a list, whose letters would be its items, and what is no DNS label."""
    if isinstance(names, str):
        yield from valid_list("names", names)
        return
    for number, name in enumerate(names):
        if not Token.is_unresolved(name):
            yield from (replace(problem, path=("names", number)) for problem in dns_label("names", name))
