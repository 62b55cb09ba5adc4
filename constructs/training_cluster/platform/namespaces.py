"""Namespaces of jobs."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import cdk8s
from aws_cdk import Token
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import valid_cluster, valid_list
from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.single_owner import own
from training_workloads.names import dns_label
from training_workloads.platform.job_disruption_budget import JobDisruptionBudgetChart
from training_workloads.validation import Problems, check

__all__ = ["Namespaces"]

_ALWAYS_EXISTS = "default"


class Namespaces(Construct):
    """Namespaces that Kubernetes does not create itself, in which an update of nodes waits for jobs that hold theirs.

    A namespace that exists is used. One that leaves the app stays in the cluster, with all that others have in it.

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
            InputError: The cluster has no kubectl, Kubernetes does not allow a name, or another construct defines the
                namespace.
        """
        super().__init__(scope, id)
        given = _given(names)
        check(valid_cluster("cluster", cluster), _valid_names(given))
        self._cluster = cast(eks.ICluster, cluster)
        self.names: list[str] = []
        self.add(given)

    def add(self, names: Iterable[str]) -> None:
        """Define more namespaces.

        Args:
            names: Their names; those that exist here, and `default`, are ignored.

        Raises:
            InputError: Kubernetes does not allow a name, or another construct defines the namespace.
        """
        given = _given(names)
        check(_valid_names(given))
        new = sorted(set(given) - {_ALWAYS_EXISTS, *self.names})
        for name in new:
            own(self, self._cluster, f"namespace {name}")
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            budget = JobDisruptionBudgetChart(cdk8s.App(), "DisruptionBudget", namespace=name).to_json()
            apply_manifest(self, name, cluster=self._cluster, documents=[namespace, *budget])
        self.names = sorted([*self.names, *new])


def _given(names: Iterable[str]) -> Iterable[str]:
    return names if isinstance(names, str) else list(names)


def _valid_names(names: Any) -> Problems:
    """Reject one name in the place of a list, whose letters would be its items, and what is not a DNS label."""
    if isinstance(names, str):
        yield from valid_list("names", names)
        return
    for number, name in enumerate(names):
        if not Token.is_unresolved(name):
            yield from (replace(problem, path=("names", number)) for problem in dns_label("names", name))
