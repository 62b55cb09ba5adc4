"""Pod Security `restricted`, the rules of `baseline` included.

https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["RULES", "Pod", "broken", "pods"]

VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
PROFILES = {"RuntimeDefault", "Localhost"}

Pod = dict[str, Any]


def containers(pod: Pod) -> list[dict[str, Any]]:
    return [each for kind in ("initContainers", "containers", "ephemeralContainers") for each in pod.get(kind, [])]


def security(pod: Pod, field: str) -> list[Any]:
    """Return a field for each container, which has it itself or from its pod."""
    inherited = pod.get("securityContext", {}).get(field)
    return [each.get("securityContext", {}).get(field, inherited) for each in containers(pod)]


def hosts(pod: Pod) -> Iterator[Any]:
    """Yield the hosts that probes and lifecycle hooks name."""
    for container in containers(pod):
        hooks = container.get("lifecycle", {})
        handlers = [container.get(f"{kind}Probe", {}) for kind in ("liveness", "readiness", "startup")]
        for handler in [*handlers, hooks.get("postStart", {}), hooks.get("preStop", {})]:
            yield from (handler.get(kind, {}).get("host", "") for kind in ("httpGet", "tcpSocket"))


RULES: dict[str, Callable[[Pod], bool]] = {
    "HostProcess": lambda pod: not any((each or {}).get("hostProcess") for each in security(pod, "windowsOptions")),
    "host namespaces": lambda pod: not any(pod.get(name) for name in ("hostNetwork", "hostPID", "hostIPC")),
    "privileged containers": lambda pod: not any(security(pod, "privileged")),
    "host ports": lambda pod: (
        not any(port.get("hostPort") for each in containers(pod) for port in each.get("ports", []))
    ),
    "host probes": lambda pod: not any(hosts(pod)),
    "AppArmor": lambda pod: all(
        (each or {"type": "RuntimeDefault"})["type"] in PROFILES for each in security(pod, "appArmorProfile")
    ),
    "SELinux": lambda pod: not any(security(pod, "seLinuxOptions")),
    "/proc mount type": lambda pod: {*security(pod, "procMount")} <= {None, "Default"},
    "sysctls": lambda pod: not pod.get("securityContext", {}).get("sysctls"),
    "volume types": lambda pod: {kind for each in pod.get("volumes", []) for kind in each if kind != "name"} <= VOLUMES,
    "privilege escalation": lambda pod: {*security(pod, "allowPrivilegeEscalation")} == {False},
    "running as non-root": lambda pod: {*security(pod, "runAsNonRoot")} == {True},
    "running as non-root user": lambda pod: 0 not in security(pod, "runAsUser"),
    "seccomp": lambda pod: all((each or {}).get("type") in PROFILES for each in security(pod, "seccompProfile")),
    "capabilities": lambda pod: all(
        "ALL" in (each or {}).get("drop", []) and {*(each or {}).get("add", [])} <= {"NET_BIND_SERVICE"}
        for each in security(pod, "capabilities")
    ),
}


def broken(pod: Pod) -> list[str]:
    """Return the names of the rules that a pod breaks."""
    return [name for name, holds in RULES.items() if not holds(pod)]


def pods(document: Any) -> Iterator[Pod]:
    """Yield the spec of every pod template in an object."""
    if isinstance(document, dict):
        if "containers" in document:
            yield document
        for value in document.values():
            yield from pods(value)
