"""Network policies of the namespaces outside teams, without which strict enforcement would cut off their pods."""

from collections.abc import Iterable
from typing import Any

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.kubernetes_manifest import apply_manifest
from training_cluster.lifecycle import after_namespaces
from training_workloads.platform.platform_spec import MPI_OPERATOR_NAMESPACE
from training_workloads.platform.queue_manifests import KUEUE_NAMESPACE

__all__ = ["SYSTEM_NAMESPACES", "OpenNamespaces"]

_KUBERNETES = "kube-system"

#: Namespaces of the cluster's own pods: DNS, drivers and autoscaler, Kueue, the MPI operator, monitoring.
SYSTEM_NAMESPACES = (_KUBERNETES, KUEUE_NAMESPACE, MPI_OPERATOR_NAMESPACE, "amazon-cloudwatch")

_ANY: list[dict[str, Any]] = [{}]


class OpenNamespaces(Construct):
    """A policy for every namespace of this library outside teams, with which it is as open as without policies.

    In strict mode a pod has no network until a policy selects it, and then what its policies allow. A policy on
    outgoing traffic alone leaves the other direction open until a job's own policy closes it
    (https://github.com/aws/aws-network-policy-agent/issues/319, read 2026-11-28).
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        """Define the policies of the system's namespaces, and of `default`."""
        super().__init__(scope, id)
        self._cluster = cluster
        both = {"policyTypes": ["Ingress", "Egress"], "ingress": _ANY, "egress": _ANY}
        for name in SYSTEM_NAMESPACES:
            # Their charts and add-ons wait for pods, so the policy must be there before: in a namespace without any.
            namespace = [] if name == _KUBERNETES else [_object("v1", "Namespace", {"name": name})]
            self._apply(name, [*namespace, _policy(name, both)])
        self.add(["default"])

    def add(self, namespaces: Iterable[str]) -> None:
        """Define the policies of more namespaces of jobs; those that have one are ignored."""
        outgoing = {"policyTypes": ["Egress"], "egress": _ANY}
        for name in sorted(set(namespaces)):
            if not self.node.try_find_child(name):
                after_namespaces(self._apply(name, [_policy(name, outgoing)]), self._cluster, name)

    def _apply(self, id: str, documents: list[dict[str, Any]]) -> eks.KubernetesManifest:
        return apply_manifest(self, id, cluster=self._cluster, documents=documents)


def _policy(namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "open", "namespace": namespace}
    return _object("networking.k8s.io/v1", "NetworkPolicy", metadata, spec={"podSelector": {}, **spec})


def _object(api_version: str, kind: str, metadata: dict[str, Any], **content: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
