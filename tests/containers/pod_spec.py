"""The spec of a pod, and podman's arguments for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.containerd_profile import PROFILE

# Scheduling, and fields without an effect on one machine.
WITHOUT_EFFECT_HERE = {
    "affinity",
    "automountServiceAccountToken",
    "nodeSelector",
    "priorityClassName",
    "serviceAccountName",
    "tolerations",
    "topologySpreadConstraints",
}
POD_FIELDS = {"containers", "hostname", "restartPolicy", "securityContext", "volumes"} | WITHOUT_EFFECT_HERE
POD_FIELDS |= {"terminationGracePeriodSeconds"}
# Requests are for GPUs, which this machine does not have: only this part of a manifest is ignored.
CONTAINER_FIELDS = {"args", "command", "env", "image", "name", "ports", "readinessProbe", "securityContext"}
CONTAINER_FIELDS |= {"resources", "volumeMounts"}
SECURITY_FIELDS = {"allowPrivilegeEscalation", "capabilities", "fsGroup", "runAsGroup", "runAsNonRoot", "runAsUser"}
SECURITY_FIELDS |= {"seccompProfile"}


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSpec:
    """The spec of a pod.

    Attributes:
        name: Name of the pod.
        spec: The pod's `spec` in the Kubernetes wire format, with one container.
        dns_names: Names with which other pods find it.
        dns_searches: Search domains for incomplete names.
        mounts: Folders of this machine by their path in the container, with podman's options.
    """

    name: str
    spec: dict[str, Any]
    dns_names: Sequence[str]
    dns_searches: Sequence[str]
    mounts: Mapping[str, tuple[Path, str]]

    @property
    def container(self) -> dict[str, Any]:
        """Return the pod's only container."""
        (container,) = self.spec["containers"]
        return dict(container)

    def check(self) -> None:
        """Reject fields that the emulation does not support."""
        container, volumes = self.container, self.spec.get("volumes", [])
        security = set(self.spec.get("securityContext", {})) | set(container.get("securityContext", {}))
        unknown = (set(self.spec) - POD_FIELDS) | (set(container) - CONTAINER_FIELDS) | (security - SECURITY_FIELDS)
        assert not unknown, f"the emulated kubelet does not support {sorted(unknown)}"
        kinds = {kind for volume in volumes for kind in volume if kind != "name"}
        assert kinds <= {"emptyDir", "persistentVolumeClaim"}, f"the emulated kubelet does not support volumes {kinds}"

    def shm_size(self) -> str | None:
        """Return the size of the memory-backed /dev/shm; None for the container runtime's default."""
        places = {mount["name"]: mount["mountPath"] for mount in self.container.get("volumeMounts", [])}
        for volume in self.spec.get("volumes", []):
            if "emptyDir" in volume:
                assert places[volume["name"]] == "/dev/shm"
                assert volume["emptyDir"]["medium"] == "Memory"
                return _bytes(volume["emptyDir"]["sizeLimit"])
        return None

    def sandbox_arguments(self) -> Iterator[str]:
        """Yield arguments of `podman pod create`: addresses, names and /dev/shm outlive a container of the pod."""
        yield from ("--hostname", self.spec.get("hostname", self.name), "--share", "ipc,net,uts")
        yield from (word for name in self.dns_names for word in ("--network-alias", name))
        yield from (word for name in self.dns_searches for word in ("--dns-search", name))
        yield from ("--infra-image", self.container["image"], "--infra-command", "sleep infinity")
        if size := self.shm_size():
            yield from ("--shm-size", size)

    def container_arguments(self) -> Iterator[str]:
        """Yield arguments of `podman run`."""
        container = self.container
        yield from _security({**self.spec.get("securityContext", {}), **container.get("securityContext", {})})
        for entry in container.get("env", []):
            yield from ("--env", f"{entry['name']}={entry['value']}")
        if seconds := self.spec.get("terminationGracePeriodSeconds"):
            yield from ("--stop-timeout", str(seconds))
        for path, (folder, options) in self.mounts.items():
            yield from ("--volume", f"{folder}:{path}:{options}")
        # In Kubernetes `command` replaces the image's entry point, and `args` its command.
        command: list[str] = [*container["command"], *container.get("args", [])]
        yield from ("--entrypoint", command[0], container["image"], *command[1:])


def _bytes(quantity: str) -> str:
    """Return podman's spelling of an amount of memory in Kubernetes' spelling, such as 4Gi."""
    match = re.fullmatch(r"(\d+)(Mi|Gi)", quantity)
    assert match, f"{quantity!r} is not a whole number of Mi or Gi"
    return match[1] + {"Mi": "m", "Gi": "g"}[match[2]]


def _security(given: dict[str, Any]) -> Iterator[str]:
    assert given["runAsNonRoot"]
    assert given["runAsUser"] != 0
    yield from ("--user", f"{given['runAsUser']}:{given['runAsGroup']}", "--group-add", str(given["fsGroup"]))
    for capability in given["capabilities"]["drop"]:
        yield from ("--cap-drop", capability)
    if not given["allowPrivilegeEscalation"]:
        yield from ("--security-opt", "no-new-privileges")
    assert given["seccompProfile"] == {"type": "RuntimeDefault"}
    # Podman's own profile allows more than that of a node.
    yield from ("--security-opt", f"seccomp={PROFILE}")
