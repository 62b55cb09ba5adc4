"""Shared file systems as a job mounts them."""

from dataclasses import dataclass
from typing import Any

from training_workloads.names import dns_subdomain
from training_workloads.validation import Problem, Problems, enforce, instance_of, matches

__all__ = [
    "EFS_CLAIM",
    "LUSTRE_CLAIM",
    "RUNS_DIRECTORY",
    "SHARED_DIRECTORIES",
    "SharedVolume",
    "folder",
    "shared_volumes",
]

#: Name of the PersistentVolumeClaim of the cluster's Lustre file system.
LUSTRE_CLAIM = "training-lustre"

#: Name of the PersistentVolumeClaim of the cluster's Elastic File System.
EFS_CLAIM = "training-efs"

#: Folders at the root of the file system that belong to the jobs' user.
RUNS_DIRECTORY = "runs"
SHARED_DIRECTORIES = ("data", RUNS_DIRECTORY)

# A relative path without "." and "..", which would lead out of the file system.
_FOLDER = r"(?!.*(^|/)\.{1,2}(/|$))[^/\s]+(/[^/\s]+)*/?"

_MOUNT_PATH = r"(?!/dev/shm(/|$))/[^:\s]+"


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedVolume:
    """A shared file system in the ranks' containers.

    Attributes:
        claim: Name of a PersistentVolumeClaim in the job's namespace. Default: that of the cluster's Lustre.
        mount_path: Where the ranks see it. Default: /fsx.
    """

    claim: str = LUSTRE_CLAIM
    mount_path: str = "/fsx"

    def __post_init__(self) -> None:
        """Check what the API server would reject."""
        enforce(self, (_claim, _mount_path))

    def path(self, folder: str) -> str:
        """Return where the ranks see a folder of the file system."""
        return f"{self.mount_path.rstrip('/')}/{folder.rstrip('/')}"

    def to_wire(self, name: str) -> dict[str, Any]:
        """Return the pod's volume with a name, in the Kubernetes wire format."""
        return {"name": name, "persistentVolumeClaim": {"claimName": self.claim}}

    def to_mount(self, name: str) -> dict[str, str]:
        """Return the container's mount of the volume with that name."""
        return {"name": name, "mountPath": self.mount_path}


def _claim(volume: SharedVolume) -> Problems:
    yield from dns_subdomain("claim", volume.claim)


def _mount_path(volume: SharedVolume) -> Problems:
    form = "an absolute path other than /dev/shm, such as /fsx"
    yield from matches("mount_path", volume.mount_path, _MOUNT_PATH, form)


def folder(name: str, value: Any) -> Problems:
    """Reject what is not a folder of a file system, seen from its root."""
    form = "a folder of the file system without a slash first, such as data/imagenet"
    yield from matches(name, value, _FOLDER, form)


def shared_volumes(name: str, volumes: Any) -> Problems:
    """Reject what is not a list of volumes, and two volumes at one path."""
    if not isinstance(volumes, list | tuple):
        yield Problem(path=(name,), given=volumes, fix="give a tuple of SharedVolume")
        return
    wrong = [problem for number, each in enumerate(volumes) for problem in _under(name, number, each)]
    yield from wrong
    paths = [] if wrong else [volume.mount_path for volume in volumes]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            allowed = "another volume has the same path"
            yield Problem(path=(name, number, "mount_path"), given=path, allowed=allowed, fix="give each another path")


def _under(name: str, number: int, volume: Any) -> Problems:
    for problem in instance_of(name, volume, SharedVolume):
        yield Problem(path=(name, number), given=volume, fix=problem.fix)
