"""The Pod Security Standards as a table: which level a pod needs, and what it would have to change for a stricter one.

https://kubernetes.io/docs/concepts/security/pod-security-standards/, as the admission plugin of Kubernetes 1.35 checks
them: https://github.com/kubernetes/kubernetes/tree/v1.35.0/staging/src/k8s.io/pod-security-admission/policy
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from training_workloads.manifests.places import places
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import is_placeholder, mapping, sequence
from training_workloads.validation import MISSING, Path, Problem

__all__ = ["BASELINE", "PRIVILEGED", "RESTRICTED", "needed_level", "not_baseline", "not_restricted"]

#: The levels, from the one that admits every pod to the strictest one.
PRIVILEGED = "privileged"
BASELINE = "baseline"
RESTRICTED = "restricted"

_CONTAINERS = "spec.initContainers|containers|ephemeralContainers[]"
_CONTEXTS = ("spec.securityContext", f"{_CONTAINERS}.securityContext")

_PROFILES = ("RuntimeDefault", "Localhost")
_PROFILE = "write type: RuntimeDefault"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"

# The fields of a volume that `restricted` admits. `image` is left out of both lists: releases may differ.
_VOLUMES = frozenset(
    "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret image".split()
)

_CAPABILITIES = frozenset(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID "
    "SYS_CHROOT".split()
)
_RESTRICTED_CAPABILITIES = frozenset(["NET_BIND_SERVICE"])

_SYSCTLS = frozenset(
    [
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    ]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Control:
    """A control of the level `baseline`.

    Attributes:
        name: Its name in the standard.
        fields: Patterns of the fields, in the template of the pod.
        allows: Whether it allows a value; a missing one it allows always.
        fix: What to write instead.
    """

    name: str
    fields: Collection[str]
    allows: Callable[[Any], bool]
    fix: str = "omit it"


def _one_of(*allowed: Any) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def _in_contexts(field: str) -> list[str]:
    return [f"{context}.{field}" for context in _CONTEXTS]


_BASELINE = (
    _Control(name="HostProcess", fields=_in_contexts("windowsOptions.hostProcess"), allows=_one_of(False)),
    _Control(name="host namespaces", fields=["spec.hostNetwork|hostPID|hostIPC"], allows=_one_of(False)),
    _Control(name="privileged containers", fields=[f"{_CONTAINERS}.securityContext.privileged"], allows=_one_of(False)),
    _Control(
        name="capabilities",
        fields=[f"{_CONTAINERS}.securityContext.capabilities.add[]"],
        allows=_CAPABILITIES.__contains__,
    ),
    _Control(
        name="hostPath volumes",
        fields=["spec.volumes[].hostPath.path"],
        allows=_one_of(),
        fix="use a claim, or a device plugin for a device",
    ),
    _Control(name="host ports", fields=[f"{_CONTAINERS}.ports[].hostPort"], allows=_one_of(0)),
    _Control(
        name="host probes and lifecycle hooks",
        fields=[
            f"{_CONTAINERS}.livenessProbe|readinessProbe|startupProbe.httpGet|tcpSocket.host",
            f"{_CONTAINERS}.lifecycle.postStart|preStop.httpGet|tcpSocket.host",
        ],
        allows=_one_of(""),
    ),
    _Control(name="AppArmor", fields=_in_contexts("appArmorProfile.type"), allows=_one_of(*_PROFILES), fix=_PROFILE),
    _Control(
        name="SELinux",
        fields=_in_contexts("seLinuxOptions.type"),
        allows=_one_of("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"),
    ),
    _Control(name="SELinux", fields=_in_contexts("seLinuxOptions.user|role"), allows=_one_of("")),
    _Control(name="seccomp", fields=_in_contexts("seccompProfile.type"), allows=_one_of(*_PROFILES), fix=_PROFILE),
    _Control(name="sysctls", fields=["spec.securityContext.sysctls[].name"], allows=_SYSCTLS.__contains__),
)


def not_baseline(pods: PodGroup) -> Iterator[Problem]:
    """Yield the values that the level `baseline` rejects: the pods need `privileged`."""
    for control in _BASELINE:
        for pattern in control.fields:
            for path, value in places(pods.template, pattern, pods.template_path):
                if not (is_placeholder(value) or control.allows(value)):
                    yield _rejected(path, value, BASELINE, control.name, control.fix)
    for path, value in places(pods.template, f"{_CONTAINERS}.securityContext.procMount", pods.template_path):
        if not (is_placeholder(value) or value == "Default" or _has_own_users(pods)):
            yield _rejected(path, value, BASELINE, "/proc mount type", "omit it")
    # Older than the field, and still obeyed.
    for name, value in pods.annotations.items():
        allowed = ("", "runtime/default")
        if str(name).startswith(_APPARMOR) and value not in allowed and not str(value).startswith("localhost/"):
            yield _rejected(
                (*pods.template_path, "metadata", "annotations", str(name)), value, BASELINE, "AppArmor", "omit it"
            )


def not_restricted(pods: PodGroup) -> Iterator[Problem]:
    """Yield the values that the level `restricted` rejects and `baseline` admits.

    Of a template that is in another object too, such as a runtime, missing fields are not judged.
    """
    for number, volume in enumerate(pods.volumes):
        for kind in sorted(volume.keys() - _VOLUMES - {"name", "hostPath"}, key=str):
            if volume[kind] is not None:
                path = (*pods.pod_path, "volumes", number, str(kind))
                yield _rejected(path, volume[kind], RESTRICTED, "volume types", "use a claim")
    if not _has_own_users(pods):
        yield from _as_root(pods)
    if mapping(pods.pod.get("os")).get("name") == "windows":
        return
    if pods.is_whole:
        yield from _inherited(
            pods,
            ("seccompProfile", "type"),
            lambda value: value is not None,
            ("seccomp", _PROFILE + " in the pod's securityContext"),
        )
    for container in _containers(pods):
        yield from _privileges(container, pods)


def needed_level(pods: PodGroup) -> str:
    """Return the strictest level that admits the pods."""
    if next(not_baseline(pods), None):
        return PRIVILEGED
    return BASELINE if next(not_restricted(pods), None) else RESTRICTED


def _as_root(pods: PodGroup) -> Iterator[Problem]:
    for pattern in _in_contexts("runAsUser"):
        for path, value in places(pods.template, pattern, pods.template_path):
            if value == 0 and not isinstance(value, bool):
                yield _rejected(path, value, RESTRICTED, "running as non-root user", "give another user, or omit it")
    name, fix = "running as non-root", "write true in the pod's securityContext"
    for pattern in _in_contexts("runAsNonRoot"):
        for path, value in places(pods.template, pattern, pods.template_path):
            if value is False:
                yield _rejected(path, value, RESTRICTED, name, "write true")
    if pods.is_whole:
        yield from _inherited(pods, ("runAsNonRoot",), lambda value: value is not None, (name, fix))


def _inherited(
    pods: PodGroup, field: tuple[str, ...], is_given: Callable[[Any], bool], words: tuple[str, str]
) -> Iterator[Problem]:
    """Yield that a field is missing in a container, and in the pod, from which the container would have it."""
    if is_given(_at(pods.pod.get("securityContext"), field)):
        return
    if not all(is_given(_at(each.security_context, field)) for each in _containers(pods)):
        yield _rejected((*pods.pod_path, "securityContext", *field), MISSING, RESTRICTED, *words)


def _privileges(container: Container, pods: PodGroup) -> Iterator[Problem]:
    context, path = container.security_context, (*container.path, "securityContext")
    may_escalate = context.get("allowPrivilegeEscalation")
    if not (may_escalate is False or is_placeholder(may_escalate)) and (pods.is_whole or may_escalate):
        given = MISSING if may_escalate is None else may_escalate
        yield _rejected((*path, "allowPrivilegeEscalation"), given, RESTRICTED, "privilege escalation", "write false")
    capabilities = mapping(context.get("capabilities"))
    dropped = sequence(capabilities.get("drop"))
    if pods.is_whole and "ALL" not in dropped and not any(map(is_placeholder, dropped)):
        given = capabilities.get("drop") or MISSING
        yield _rejected((*path, "capabilities", "drop"), given, RESTRICTED, "capabilities", "write [ALL]")
    for number, added in enumerate(sequence(capabilities.get("add"))):
        if added in _CAPABILITIES - _RESTRICTED_CAPABILITIES:
            yield _rejected((*path, "capabilities", "add", number), added, RESTRICTED, "capabilities", "omit it")


def _containers(pods: PodGroup) -> Iterator[Container]:
    yield from pods.all_containers
    for path, value in places(pods.template, "spec.ephemeralContainers[]", pods.template_path):
        yield Container(path=path, content=mapping(value))


def _has_own_users(pods: PodGroup) -> bool:
    """Return whether root of a container is no user of the node: then some controls do not apply."""
    return pods.pod.get("hostUsers") is False


def _at(value: Any, field: tuple[str, ...]) -> Any:
    for key in field:
        value = mapping(value).get(key)
    return value


def _rejected(path: Path, given: Any, level: str, control: str, fix: str) -> Problem:
    needed = PRIVILEGED if level == BASELINE else BASELINE
    allowed = f"the Pod Security level '{level}' rejects it ({control}): the pod needs '{needed}'"
    return Problem(path=path, given=given, allowed=allowed, fix=fix)
