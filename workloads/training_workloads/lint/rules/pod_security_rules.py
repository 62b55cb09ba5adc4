"""Rules on the Pod Security level that pods need, and on pods that endanger a cluster; they run only when selected."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import normpath
from typing import Any

from training_workloads.lint.pod_security import not_baseline, not_restricted
from training_workloads.lint.rule import Found, error, found_of, warning
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, sequence, value_at

_STANDARDS = "([Pod Security Standards](https://kubernetes.io/docs/concepts/security/pod-security-standards/))"


@dataclass(frozen=True, kw_only=True, slots=True)
class SecuredPods:
    """Pods, and the objects beside them.

    Attributes:
        pods: The pods of one template.
        namespace: Their namespace; None where the manifest does not say it.
        neighbours: The objects of the file.
    """

    pods: PodGroup
    namespace: Any
    neighbours: Sequence[Mapping[Any, Any]]


@error(f"A namespace that enforces `baseline` rejects the pod {_STANDARDS}")
def needs_privileged(subject: SecuredPods) -> Iterator[Found]:
    """A value that needs the Pod Security level `privileged`, which separates the pod from its node in nothing."""
    yield from map(found_of, not_baseline(subject.pods))


@warning(f"A namespace that enforces `restricted` rejects the pod {_STANDARDS}")
def needs_baseline(subject: SecuredPods) -> Iterator[Found]:
    """A value that keeps a pod out of a namespace with the Pod Security level `restricted`."""
    yield from map(found_of, not_restricted(subject.pods))


# Where container runtimes listen: containerd, Docker, CRI-O and Podman; /var/run is /run.
_SOCKETS = ("/run/containerd/containerd.sock", "/run/docker.sock", "/run/crio/crio.sock", "/run/podman/podman.sock")


@error(
    "Who writes to it starts a container with every right on the node "
    "([OWASP](https://cheatsheetseries.owasp.org/cheatsheets/Docker_Security_Cheat_Sheet.html))"
)
def runtime_socket(subject: SecuredPods) -> Iterator[Found]:
    """A socket of the node's container runtime in a container, or a folder with it."""
    pods = subject.pods
    mounted = {
        mount.get("name")
        for container in pods.all_containers
        for mount in container.volume_mounts
        if not (mount.get("subPath") or mount.get("subPathExpr"))
    }
    for number, volume in enumerate(pods.volumes):
        path = mapping(volume.get("hostPath")).get("path")
        if volume.get("name") in mounted and isinstance(path, str) and (socket := _socket_in(path)):
            found = f"is {path!r}, in which the node's container runtime listens ({socket}): the pod controls the node"
            yield Found((*pods.pod_path, "volumes", number, "hostPath", "path"), found, "remove the volume")


def _socket_in(path: str) -> str | None:
    folder = normpath(path)
    if f"{folder}/".startswith("/var/run/"):
        folder = folder.removeprefix("/var")
    return next((each for each in _SOCKETS if folder in ("/", each) or each.startswith(f"{folder}/")), None)


_SYSTEM_PRIORITIES = ("system-cluster-critical", "system-node-critical")


@warning(
    "Pods of every other priority make room for it, and a namespace may use it unless a quota forbids it "
    "([PriorityClass](https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/))"
)
def system_priority(subject: SecuredPods) -> Iterator[Found]:
    """A priority of the cluster's own parts."""
    name = subject.pods.pod.get("priorityClassName")
    if name in _SYSTEM_PRIORITIES:
        problem = f"is {name}, so that the pod displaces the training of others"
        yield Found((*subject.pods.pod_path, "priorityClassName"), problem, "use a PriorityClass of your own")


@error(
    "A program in the pod reads the account's token from a file, and may then do what the role allows "
    "([service accounts](https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/))"
)
def powerful_token(subject: SecuredPods) -> Iterator[Found]:
    """A pod with the token of a service account that may do everything, by a role in the same file."""
    pod = subject.pods.pod
    account = pod.get("serviceAccountName") or pod.get("serviceAccount") or "default"
    if not subject.pods.is_whole or not _mounts_token(subject, account):
        return
    for binding in subject.neighbours:
        role = mapping(binding.get("roleRef")).get("name")
        if _is_bound(binding, account, subject.namespace) and _does_everything(binding, subject.neighbours):
            problem = f"is {account!r}, to which {binding.get('kind')} gives the role {role!r} with every right"
            fix = "write automountServiceAccountToken: false, or bind a role with the rights that the pod needs"
            yield Found((*subject.pods.pod_path, "serviceAccountName"), problem, fix)


def _mounts_token(subject: SecuredPods, account: Any) -> bool:
    own = subject.pods.pod.get("automountServiceAccountToken")
    if own is not None:
        return own is True
    accounts = (each for each in subject.neighbours if each.get("kind") == "ServiceAccount")
    named = [each for each in accounts if value_at(each, ("metadata", "name")) == account]
    return not any(each.get("automountServiceAccountToken") is False for each in named)


def _is_bound(binding: Mapping[Any, Any], account: Any, namespace: Any) -> bool:
    if binding.get("kind") not in ("ClusterRoleBinding", "RoleBinding"):
        return False
    subjects = map(mapping, sequence(binding.get("subjects")))
    return any(
        each.get("kind") == "ServiceAccount"
        and each.get("name") == account
        # Without a namespace the manifest is for that of the command.
        and (None in (each.get("namespace"), namespace) or each.get("namespace") == namespace)
        for each in subjects
    )


def _does_everything(binding: Mapping[Any, Any], neighbours: Sequence[Mapping[Any, Any]]) -> bool:
    kind, name = (mapping(binding.get("roleRef")).get(field) for field in ("kind", "name"))
    if (kind, name) == ("ClusterRole", "cluster-admin"):
        return True
    rules = [
        mapping(rule)
        for each in neighbours
        if each.get("kind") == kind and value_at(each, ("metadata", "name")) == name
        for rule in sequence(each.get("rules"))
    ]
    return any("*" in sequence(rule.get("verbs")) and "*" in sequence(rule.get("resources")) for rule in rules)
