"""The pod that every job is made of: one container, the image's non-root user, and nothing it does not need."""

from typing import Any

from training_workloads.catalog.nodes import DO_NOT_DISRUPT, SAFE_TO_EVICT
from training_workloads.mpijob.programs import UID

__all__ = ["CONFINED", "UNPRIVILEGED", "pod_template"]

#: What no container of a job may do.
UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

#: The same for those that run no MPI, whose shared memory and binding to cores the runtime's profile would hinder.
CONFINED = {**UNPRIVILEGED, "seccompProfile": {"type": "RuntimeDefault"}}


def pod_template(container: dict[str, Any], *, service_account: str | None, **fields: Any) -> dict[str, Any]:
    """A pod template with one container, for the image's non-root user.

    Args:
        container: In the Kubernetes wire format.
        service_account: Under which the pod runs; None for the namespace's default.
        fields: Further fields of the pod's spec.
    """
    security = {"runAsNonRoot": True, "runAsUser": UID, "runAsGroup": UID, "fsGroup": UID}
    # Jobs do not talk to Kubernetes; what Pod Identity gives to a service account comes another way.
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "securityContext": security,
    }
    if service_account:
        spec["serviceAccountName"] = service_account
    # A training pod cannot move to another node: autoscalers wait for its end, or the job would begin again.
    stays = {SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"}
    return {"metadata": {"annotations": stays}, "spec": spec | fields}
