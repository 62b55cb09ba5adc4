"""Rules on what a mount hides, and on volumes that have no source."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from training_workloads.lint.rule import Found, error, warning
from training_workloads.manifests.pods import Container, PodGroup
from training_workloads.manifests.values import mapping, sequence
from training_workloads.validation import Path

__all__ = ["whole_mounts"]

_VOLUMES = "https://kubernetes.io/docs/concepts/storage/volumes/"

# Folders with the image's programs and libraries.
_OF_THE_IMAGE = {
    *("/", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/var", "/usr/bin", "/usr/sbin", "/usr/lib"),
    *("/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/local/bin"),
}
# Those with programs of some images.
_OFTEN = ("/opt", "/usr/local")


def whole_mounts(pods: PodGroup) -> Iterator[tuple[Container, Path, str, Any]]:
    """Yield the whole volumes that containers mount: container, path, where it is mounted, and the volume."""
    volumes = {volume.get("name"): volume for volume in pods.volumes if isinstance(volume.get("name"), str)}
    for container in pods.all_containers:
        for number, mount in enumerate(map(mapping, sequence(container.content.get("volumeMounts")))):
            where, name = mount.get("mountPath"), mount.get("name")
            is_whole = not mount.get("subPath") and not mount.get("subPathExpr")
            if isinstance(where, str) and where.startswith("/") and isinstance(name, str) and is_whole:
                yield container, (*container.path, "volumeMounts", number, "mountPath"), where, volumes.get(name)


@error(f"A mount hides what the image has at its path ([Kubernetes]({_VOLUMES}))")
def mount_over_programs(pods: PodGroup) -> Iterator[Found]:
    """A volume over a folder with the image's programs, such as `/usr`, or with one that the command names."""
    for container, path, where, volume in whole_mounts(pods):
        folder = str(PurePosixPath(where))
        # Those of the node have programs.
        if "hostPath" in mapping(volume):
            continue
        used = next((word for word in _paths(container) if word.startswith(f"{folder}/")), None)
        if folder in _OF_THE_IMAGE:
            problem = f"is {where}, and hides the image's own files there"
            yield Found(path, problem, "mount it at a separate folder, such as /fsx")
        elif used and any(folder == one or folder.startswith(f"{one}/") for one in _OFTEN):
            problem = f"is {where}, and hides {used}, which the container uses"
            yield Found(path, problem, "mount it at a separate folder, such as /fsx")


def _paths(container: Container) -> list[str]:
    """Return the programs and libraries that a container names."""
    first = container.argv[:1]
    libraries = (container.environment.get(name, ("", ()))[0] for name in ("LD_LIBRARY_PATH", "PATH"))
    return [*first, *(f"{one}/" for value in libraries if isinstance(value, str) for one in value.split(":") if one)]


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
