"""The objects of a team's namespace that its members cannot change: labels, quotas, network policy and permissions.

The admission policies are in `team_admission`.
"""

from typing import Any

from training_workloads.platform.team_admission import TEAM_LABEL, USER_LABEL

__all__ = ["member_group", "pod_security_labels", "team_labels", "team_manifests"]

_LEVEL = "restricted"

# Kubernetes gives these to its own pods: they stop others when a node has no room. Any namespace may use them unless
# its quota forbids it: https://kubernetes.io/docs/concepts/policy/resource-quotas/#limit-priority-class-consumption-by-default
_SYSTEM_PRIORITIES = ["system-cluster-critical", "system-node-critical"]

_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "update", "patch", "delete", "deletecollection"]


def pod_security_labels() -> dict[str, str]:
    """Return the labels with which a namespace rejects pods that need more than Pod Security `restricted`.

    The warning reaches who creates a Job or a Deployment, whose pods would be rejected later
    (https://kubernetes.io/docs/concepts/security/pod-security-admission/, read 2026-11-28).
    """
    return {f"pod-security.kubernetes.io/{mode}": _LEVEL for mode in ("enforce", "warn")}


def team_labels(name: str, user_id: int) -> dict[str, str]:
    """Return the labels of a team's namespace."""
    return pod_security_labels() | {TEAM_LABEL: name, USER_LABEL: str(user_id)}


def member_group(team: str) -> str:
    """Return the group in Kubernetes of the members of a team."""
    return f"training-cluster:{team}"


def team_manifests(name: str, namespace: str) -> list[dict[str, Any]]:
    """Return the objects in the namespace of a team."""
    return [
        _object("v1", "ResourceQuota", "no-system-priority", namespace, spec=_no_pods("PriorityClass", "In")),
        # With a required distance to the pods of another namespace a pod keeps these off its node.
        _object("v1", "ResourceQuota", "no-foreign-affinity", namespace, spec=_no_pods("CrossNamespacePodAffinity")),
        _object(
            "v1",
            "ResourceQuota",
            "no-open-ports",
            namespace,
            # A load balancer is open to the internet, a port of the nodes to the VPC.
            spec={"hard": {"services.loadbalancers": "0", "services.nodeports": "0"}},
        ),
        _object(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            "default-deny",
            namespace,
            # A job has its own policy, which opens its pods to each other.
            spec={"podSelector": {}, "policyTypes": ["Ingress"]},
        ),
        _object("rbac.authorization.k8s.io/v1", "Role", "team-member", namespace, rules=_rules()),
        _object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            "team-member",
            namespace,
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "team-member"},
            subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": member_group(name)}],
        ),
    ]


def _no_pods(scope: str, operator: str = "Exists") -> dict[str, Any]:
    values = {"values": _SYSTEM_PRIORITIES} if operator == "In" else {}
    selector = {"scopeName": scope, "operator": operator} | values
    return {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [selector]}}


def _rules() -> list[dict[str, Any]]:
    """Return the rights that EKS's policy for editors leaves out: those on MPIJobs, and a look at the queue."""
    return [
        {"apiGroups": ["kubeflow.org"], "resources": ["mpijobs"], "verbs": _WRITE},
        {"apiGroups": ["kubeflow.org"], "resources": ["mpijobs/status"], "verbs": ["get"]},
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues", "workloads"], "verbs": _READ},
    ]


def _object(api_version: str, kind: str, name: str, namespace: str, **content: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
