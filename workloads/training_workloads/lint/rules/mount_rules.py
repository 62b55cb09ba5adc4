"""Rules on what a mount hides, and on volumes that have no source."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import mapping
from training_workloads.validation import Path

__all__ = ["whole_mounts"]

_VOLUMES = "https://kubernetes.io/docs/concepts/storage/volumes/"

# Folders with the programs and libraries of every image.
_OF_THE_IMAGE = {"/", "/usr", "/bin", "/lib", "/usr/bin", "/usr/lib"}


def whole_mounts(pods: PodGroup) -> Iterator[tuple[Container, Path, str, Any]]:
    """Yield the whole volumes that containers mount: container, path, where it is mounted, and the volume."""
    volumes = {volume.get("name"): volume for volume in pods.volumes if isinstance(volume.get("name"), str)}
    for container in pods.all_containers:
        for number, mount in enumerate(container.volume_mounts):
            where, name = mount.get("mountPath"), mount.get("name")
            is_whole = not mount.get("subPath") and not mount.get("subPathExpr")
            if isinstance(where, str) and where.startswith("/") and isinstance(name, str) and is_whole:
                yield container, (*container.path, "volumeMounts", number, "mountPath"), where, volumes.get(name)


@error(f"A mount hides what the image has at its path ([Kubernetes]({_VOLUMES}))")
def mount_over_programs(pods: PodGroup) -> Iterator[Found]:
    """An empty volume over a folder with the image's programs, such as `/usr`, or with the one that the command starts.

    Other volumes may bring programs with them, and so may containers that fill an emptyDir.
    """
    mounts = list(whole_mounts(pods))
    for container, path, where, volume in mounts:
        shared = sum(volume is other for _, _, _, other in mounts) > 1 or _is_part_mounted(pods, volume)
        folder = PurePosixPath(where)
        # No volume but the node's has a whole system.
        is_root = str(folder) == "/" and "hostPath" not in mapping(volume)
        if not is_root and ("emptyDir" not in mapping(volume) or shared):
            continue
        program = PurePosixPath(next(iter(container.argv), ""))
        if str(folder) in _OF_THE_IMAGE:
            problem = f"is {where}, and hides the image's own files there"
            yield Found(path, problem, "mount it at a separate folder, such as /fsx")
        elif program.is_absolute() and program.is_relative_to(folder):
            problem = f"is {where}, and hides {program}, which the container starts"
            yield Found(path, problem, "mount it at a separate folder, such as /fsx")


def _is_part_mounted(pods: PodGroup, volume: Any) -> bool:
    """Return whether a container mounts a part of a volume, which it may fill."""
    mounts = (one for each in pods.all_containers for one in each.volume_mounts)
    name = mapping(volume).get("name")
    return any(one.get("name") == name and (one.get("subPath") or one.get("subPathExpr")) for one in mounts)


@warning(
    "Kubernetes makes a volume without a source an empty directory ([SetDefaults_Volume]("
    "https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/core/v1/defaults.go)), whose files end with the pod"
)
def volume_without_source(pods: PodGroup) -> Iterator[Found]:
    """A volume without a source, which Kubernetes makes an empty directory: its files end with the pod."""
    for number, volume in enumerate(pods.volumes):
        sources = [name for name, value in volume.items() if name != "name" and value is not None]
        if volume.get("name") and not sources and "emptyDir" not in volume:
            problem = "has no source, and Kubernetes makes it an empty directory, whose files end with the pod"
            yield Found((*pods.pod_path, "volumes", number), problem, "give its source, or emptyDir: {}")
