"""Rules on ports, probes and hooks that the API server rejects, or by which a container never becomes ready.

https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/validation/validation.go
"""

from collections.abc import Iterator
from typing import Any

from training_workloads.lint.rule import Found, error
from training_workloads.lint.sources import validated_by
from training_workloads.manifests.places import CONTAINERS, places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, names_placeholder

_PROBES = "livenessProbe|readinessProbe|startupProbe"


@error(
    "The kubelet finds no such port, and the probe fails for ever ([ResolveContainerPort]("
    "https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/probe/util.go))"
)
def unknown_port(pods: PodGroup) -> Iterator[Found]:
    """A probe at a port by a name that its container does not have."""
    for container in pods.all_containers if pods.is_whole else ():
        named = [port.get("name") for port in container.ports]
        known = sorted(name for name in named if isinstance(name, str))
        for path, value in places(container.content, f"{_PROBES}.tcpSocket|httpGet.port", container.path):
            is_name = isinstance(value, str) and any(map(str.isalpha, value))
            if is_name and value not in known and not names_placeholder(value, *known):
                fix = f"name one of {', '.join(known)}, or give its number" if known else "give the port's number"
                yield Found(path, f"is {value!r}, which is no port of this container: the probe always fails", fix)


@error(validated_by("validateLivenessProbe, validateStartupProbe", 'The pod is rejected: "must be 1"'))
def success_threshold(pods: PodGroup) -> Iterator[Found]:
    """A liveness or startup probe that must succeed more than once."""
    pattern = f"{CONTAINERS}.livenessProbe|startupProbe.successThreshold"
    for path, value in places(pods.template, pattern, pods.template_path):
        if isinstance(value, int) and value > 1:
            yield Found(path, f"is {value}, and the pod is rejected", "write 1, or omit it")


@error(validated_by("validateInitContainers"))
def probe_of_init_container(pods: PodGroup) -> Iterator[Found]:
    """A probe or hook of an init container that is no sidecar."""
    for path, value in places(pods.template, "spec.initContainers[]", pods.template_path):
        given = mapping(value)
        if given.get("restartPolicy") is not None:
            continue
        for name in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
            if given.get(name) is not None:
                problem = "is not for an init container, which ends before the others start, and the pod is rejected"
                yield Found((*path, name), problem, "remove it, or write restartPolicy: Always for a sidecar")


@error(validated_by("validateHostNetwork"))
def host_port(pods: PodGroup) -> Iterator[Found]:
    """A port of the node that differs from the container's, in a pod with the node's network."""
    if pods.pod.get("hostNetwork") is not True:
        return
    for path, value in places(pods.template, f"{CONTAINERS}.ports[]", pods.template_path):
        port, on_node = mapping(value).get("containerPort"), mapping(value).get("hostPort")
        if on_node and port and on_node != port:
            problem = f"is {on_node} with hostNetwork: true, but containerPort is {port}, and the pod is rejected"
            yield Found((*path, "hostPort"), problem, "omit hostPort")


@error(validated_by("checkHostPortConflicts", "The pod is rejected, or only one of them fits on a node"))
def host_port_taken(pods: PodGroup) -> Iterator[Found]:
    """Two ports of one pod at the same port of the node."""
    seen: set[Any] = set()
    for path, value in places(pods.template, "spec.containers[].ports[]", pods.template_path):
        given = mapping(value)
        port = given.get("hostPort")
        place = (str(port), str(given.get("protocol") or "TCP"), str(given.get("hostIP")))
        if isinstance(port, int) and port and place in seen:
            problem = f"is {port}, as another port of this pod, and the pod is rejected"
            yield Found((*path, "hostPort"), problem, "give each another, or omit it")
        seen.add(place)


@error(validated_by("validateExecAction"))
def empty_command(pods: PodGroup) -> Iterator[Found]:
    """A probe or hook that runs a command without words."""
    for hooks in (_PROBES, "lifecycle.postStart|preStop"):
        for path, value in places(pods.template, f"{CONTAINERS}.{hooks}.exec", pods.template_path):
            if isinstance(value, dict) and value.get("command") in (None, []):
                yield Found((*path, "command"), "has no words, and the pod is rejected", "give the command")
