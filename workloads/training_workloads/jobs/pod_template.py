"""The pod of every job, which Pod Security `restricted` admits: one container, non-root; and the types of values."""

from typing import Annotated, Any

from training_workloads.catalog.nodes import DO_NOT_DISRUPT, SAFE_TO_EVICT
from training_workloads.mpijob.programs import HOME, UID, USER
from training_workloads.names import dns_label, dns_subdomain, image_fix
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, at_least, is_late

__all__ = [
    "UNPRIVILEGED",
    "Image",
    "Namespace",
    "ServiceAccount",
    "UserId",
    "pod_template",
]

#: Rights that no container of a job has.
UNPRIVILEGED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

# Without its last line the standard rejects the pod
# (https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted). containerd's profile rejects three
# kinds of calls that MPI makes: `mpirun_command` does without those between ranks of a node; those that place memory
# only cost a warning of mpirun, since Linux places memory near the core that first writes to it.
_SECURITY = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}

# ssh asks /etc/passwd for the user of a number, and an image knows no user but its. So the pod of another
# user brings the file: an annotation that the pod reads as one. It has the user's name and home of our images.
_PASSWD = "training-cluster/passwd"
_PASSWD_VOLUME = "passwd"
_ROOT = "root:x:0:0:root:/root:/usr/sbin/nologin\n"

# The home of the image's user is not that of another, who may not write there.
_OTHER_HOME = "/tmp"


def _image(name: str, address: Any) -> Problems:
    """Reject texts that cannot be an image's address."""
    # An app of the CDK may pass the address of an image that it builds.
    if not is_late(address) and (fix := image_fix(address)):
        yield Problem(path=(name,), given=address, fix=fix)


#: The number of a user and its group, as Linux has it; 0 is root.
UserId = Annotated[int, Checked(at_least, 1, 2**31 - 1)]
Image = Annotated[str, Checked(_image)]
Namespace = Annotated[str, Checked(dns_label)]
ServiceAccount = Annotated[str, Checked(dns_subdomain)]


def pod_template(
    container: dict[str, Any],
    *,
    service_account: str | None,
    user_id: int,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    may_move: bool = False,
    ssh: bool = False,
    **fields: Any,
) -> dict[str, Any]:
    """Return a pod template with one container, for a non-root user.

    Args:
        container: In the Kubernetes wire format.
        service_account: Service account of the pod; None for the namespace's default.
        user_id: User and group of the processes, other than root.
        labels: Labels of the pod. Default: those of its controller.
        annotations: Annotations of the pod, beside those that keep it on its node. Default: none.
        may_move: Whether an autoscaler may move the pod to another node.
        ssh: Whether ssh starts the programs of the container: their home is that of /etc/passwd.
        fields: Further fields of the pod's spec.
    """
    # Jobs do not call the API of Kubernetes; Pod Identity gives a service account's permissions another way.
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "containers": [container],
        "securityContext": _SECURITY | dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), user_id),
    }
    if service_account:
        spec["serviceAccountName"] = service_account
    # A training pod cannot move to another node: autoscalers wait for its end, or the job would restart.
    # Without the word, the Cluster Autoscaler also keeps the node of a pod with an emptyDir
    # (https://kyverno.io/policies/best-practices/add-safe-to-evict/add-safe-to-evict, read 2026-11-23).
    stays = {SAFE_TO_EVICT: "true"} if may_move else {SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"}
    metadata = {"annotations": stays | (annotations or {})} | ({"labels": labels} if labels else {})
    template = {"metadata": metadata, "spec": spec | fields}
    return template if user_id == UID else _with_user(template, user_id, home=None if ssh else _OTHER_HOME)


def _with_user(template: dict[str, Any], user_id: int, *, home: str | None) -> dict[str, Any]:
    """Add a user to the containers of a pod, in the file that ssh and getpwuid(3) read."""
    metadata, spec = template["metadata"], template["spec"]
    user = f"{USER}:x:{user_id}:{user_id}::{HOME}:/bin/bash\n"
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{_PASSWD}']"}}
    volume = {"name": _PASSWD_VOLUME, "downwardAPI": {"items": [{"path": _PASSWD_VOLUME, **field}]}}
    changed = {
        kind: [_as_user(container, home) for container in spec[kind]]
        for kind in ("initContainers", "containers")
        if kind in spec
    }
    return {
        "metadata": metadata | {"annotations": metadata["annotations"] | {_PASSWD: _ROOT + user}},
        "spec": spec | changed | {"volumes": [*spec.get("volumes", []), volume]},
    }


def _as_user(container: dict[str, Any], home: str | None) -> dict[str, Any]:
    mount = {"name": _PASSWD_VOLUME, "mountPath": "/etc/passwd", "subPath": _PASSWD_VOLUME, "readOnly": True}
    mounts = [*container.get("volumeMounts", []), mount]
    variables = container.get("env", [])
    if home is None or any(variable["name"] == "HOME" for variable in variables):
        return container | {"volumeMounts": mounts}
    return container | {"env": [*variables, {"name": "HOME", "value": home}], "volumeMounts": mounts}
