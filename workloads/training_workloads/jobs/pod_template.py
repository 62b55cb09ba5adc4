"""The pod of every job, which Pod Security `restricted` admits: one container, non-root; and rules of its values."""

import sys
from typing import Any, Protocol

from training_workloads.catalog.nodes import DO_NOT_DISRUPT, SAFE_TO_EVICT
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_label, dns_subdomain, image_fix
from training_workloads.validation import InputError, Problem, Problems, is_late

__all__ = [
    "UNPRIVILEGED",
    "above_zero",
    "check_kind",
    "image",
    "namespace",
    "pod_template",
    "service_account",
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
        service_account: Of the pod; None for the namespace's default.
        labels: Of the pod. Default: those of its controller.
        annotations: Of the pod, beside those that keep it on its node. Default: none.
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


class _HasImage(Protocol):
    @property
    def image(self) -> str: ...


class _HasNamespace(Protocol):
    @property
    def namespace(self) -> str | None: ...


class _HasServiceAccount(Protocol):
    @property
    def service_account(self) -> str | None: ...


def image(spec: _HasImage) -> Problems:
    """Reject what cannot be an image's address."""
    # An app of the CDK may pass the address of an image that it builds.
    if not is_late(spec.image) and (fix := image_fix(spec.image)):
        yield Problem(path=("image",), given=spec.image, fix=fix)


def namespace(spec: _HasNamespace) -> Problems:
    """Reject what cannot be a namespace."""
    if spec.namespace is not None:
        yield from dns_label("namespace", spec.namespace)


def service_account(spec: _HasServiceAccount) -> Problems:
    """Reject what cannot be the name of a service account."""
    if spec.service_account is not None:
        yield from dns_subdomain("service_account", spec.service_account)


def above_zero(name: str, value: Any) -> Problems:
    """Reject what is neither None nor a finite number above 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 < value < sys.float_info.max):
        yield Problem(path=(name,), given=value, fix="give a number above 0")


def check_kind(spec: Any, kind: type) -> None:
    """Reject the spec of another kind of job.

    Raises:
        InputError: `spec` is not of this kind.
    """
    # A subclass is another kind: an elastic job's spec is a Horovod job's, with another launcher.
    if type(spec) is not kind:
        raise InputError(Problem(path=("spec",), given=spec, fix=f"give a {kind.__name__}"))
