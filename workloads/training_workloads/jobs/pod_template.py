"""The pod of every job, which Pod Security `restricted` admits: one container, non-root; and the types of values."""

from typing import Annotated, Any

from training_workloads.catalog.nodes import DO_NOT_DISRUPT, SAFE_TO_EVICT
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_label, dns_subdomain, image_fix
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, is_late

__all__ = [
    "UNPRIVILEGED",
    "Image",
    "Namespace",
    "ServiceAccount",
    "pod_template",
]

#: Rights that no container of a job has.
UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

# Without its last line the standard rejects the pod
# (https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted). containerd's profile rejects three
# kinds of calls that MPI makes: `mpirun_command` does without those between ranks of a node; those that place memory
# only cost a warning of mpirun, since Linux places memory near the core that first writes to it.
_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": UID,
    "runAsGroup": UID,
    "fsGroup": UID,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def _image(name: str, address: Any) -> Problems:
    """Reject texts that cannot be an image's address."""
    # An app of the CDK may pass the address of an image that it builds.
    if not is_late(address) and (fix := image_fix(address)):
        yield Problem(path=(name,), given=address, fix=fix)


Image = Annotated[str, Checked(_image)]
Namespace = Annotated[str, Checked(dns_label)]
ServiceAccount = Annotated[str, Checked(dns_subdomain)]


def pod_template(
    container: dict[str, Any],
    *,
    service_account: str | None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    may_move: bool = False,
    **fields: Any,
) -> dict[str, Any]:
    """Return a pod template with one container, for the image's non-root user.

    Args:
        container: In the Kubernetes wire format.
        service_account: Service account of the pod; None for the namespace's default.
        labels: Labels of the pod. Default: those of its controller.
        annotations: Annotations of the pod, beside those that keep it on its node. Default: none.
        may_move: Whether an autoscaler may move the pod to another node.
        fields: Further fields of the pod's spec.
    """
    # Jobs do not call the API of Kubernetes; Pod Identity gives a service account's permissions another way.
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "securityContext": _SECURITY,
    }
    if service_account:
        spec["serviceAccountName"] = service_account
    # A training pod cannot move to another node: autoscalers wait for its end, or the job would restart.
    # Without the word, the Cluster Autoscaler also keeps the node of a pod with an emptyDir
    # (https://kyverno.io/policies/best-practices/add-safe-to-evict/add-safe-to-evict, read 2026-11-23).
    stays = {SAFE_TO_EVICT: "true"} if may_move else {SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"}
    metadata = {"annotations": stays | (annotations or {})} | ({"labels": labels} if labels else {})
    return {"metadata": metadata, "spec": spec | fields}
