"""Rules on security contexts that contradict themselves: the API server or the kubelet rejects the container.

https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
"""

from collections.abc import Iterator

from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, sequence


@error(
    "The kubelet does not start the container: CreateContainerConfigError "
    "([verifyRunAsNonRoot](https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/kubelet/kuberuntime/security_context_others.go))"
)
def root_not_allowed(pods: PodGroup) -> Iterator[Found]:
    """`runAsNonRoot` with the user 0."""
    outer = mapping(pods.pod.get("securityContext"))
    for container in pods.all_containers:
        inner = container.security_context
        both = {**outer, **{name: value for name, value in inner.items() if value is not None}}
        if both.get("runAsNonRoot") is True and both.get("runAsUser") == 0:
            own = inner.get("runAsUser") is not None
            path = (*container.path, "securityContext", "runAsUser")
            path = path if own else (*pods.pod_path, "securityContext", "runAsUser")
            problem = "is 0 with runAsNonRoot: true, and the container does not start"
            yield Found(path, problem, "give another user, or remove runAsNonRoot")


@error(validated_by("ValidateSecurityContext"))
def escalation_not_allowed(pods: PodGroup) -> Iterator[Found]:
    """`allowPrivilegeEscalation: false` in a privileged container, or one with CAP_SYS_ADMIN."""
    for path, value in places(pods.template, f"{CONTAINERS}.securityContext", pods.template_path):
        context = mapping(value)
        added = sequence(mapping(context.get("capabilities")).get("add"))
        reason = (
            "privileged: true"
            if context.get("privileged") is True
            else "CAP_SYS_ADMIN"
            if "CAP_SYS_ADMIN" in added
            else ""
        )
        if context.get("allowPrivilegeEscalation") is False and reason:
            problem = f"is false with {reason}, and the pod is rejected"
            yield Found((*path, "allowPrivilegeEscalation"), problem, "omit it, or the privileges")


@error(validated_by("validateSeccompProfileField"))
def profile_file(pods: PodGroup) -> Iterator[Found]:
    """A seccomp or AppArmor profile of the type Localhost without its file, or a file with another type."""
    for where in ("spec.securityContext", f"{CONTAINERS}.securityContext"):
        for path, value in places(pods.template, f"{where}.seccompProfile|appArmorProfile", pods.template_path):
            kind, file = mapping(value).get("type"), mapping(value).get("localhostProfile")
            if kind == "Localhost" and not file:
                problem = "is missing, and the pod is rejected"
                yield Found((*path, "localhostProfile"), problem, "give the profile's file, or another type")
            elif kind in ("RuntimeDefault", "Unconfined") and file:
                problem = f"is given with the type {kind}, and the pod is rejected"
                yield Found((*path, "localhostProfile"), problem, "omit it, or write type: Localhost")


@error(validated_by("validateMountPropagation"))
def mount_propagation(pods: PodGroup) -> Iterator[Found]:
    """`mountPropagation: Bidirectional` in a container that is not privileged."""
    for container in pods.all_containers:
        privileged = container.security_context.get("privileged")
        for path, value in places(container.content, "volumeMounts[].mountPropagation", container.path):
            if value == "Bidirectional" and privileged is not True:
                problem = "is Bidirectional in a container that is not privileged, and the pod is rejected"
                yield Found(path, problem, "write HostToContainer")


@error(validated_by("ValidatePodSecurityContext"))
def shared_processes(pods: PodGroup) -> Iterator[Found]:
    """`shareProcessNamespace` and `hostPID` at once."""
    if pods.pod.get("shareProcessNamespace") is True and pods.pod.get("hostPID") is True:
        path = (*pods.pod_path, "shareProcessNamespace")
        yield Found(path, "is true with hostPID: true, and the pod is rejected", "keep one of them")
