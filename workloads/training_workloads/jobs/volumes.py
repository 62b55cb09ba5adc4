"""Shared file systems as a job mounts them."""

from dataclasses import replace
from typing import Annotated, Any

from training_workloads.names import dns_subdomain
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, instance_of, matches

__all__ = [
    "DATA_DIRECTORY",
    "EFS_CLAIM",
    "LUSTRE_CLAIM",
    "RUNS_DIRECTORY",
    "SHARED_DIRECTORIES",
    "Folder",
    "SharedVolume",
    "shared_volumes",
]

#: Name of the PersistentVolumeClaim of the cluster's Lustre file system.
LUSTRE_CLAIM = "training-lustre"

#: Name of the PersistentVolumeClaim of the cluster's Elastic File System.
EFS_CLAIM = "training-efs"

#: Folders at the root of the file system that belong to the jobs' user.
DATA_DIRECTORY = "data"
RUNS_DIRECTORY = "runs"
SHARED_DIRECTORIES = (DATA_DIRECTORY, RUNS_DIRECTORY)

# A relative path without "." and "..", which would lead out of the file system.
_FOLDER = r"(?!.*(^|/)\.{1,2}(/|$))[^/\s]+(/[^/\s]+)*/?"

_A_FOLDER = "a folder of the file system without a slash first, such as data/imagenet"

#: A folder of a file system, seen from its root.
Folder = Annotated[str, Checked(matches, _FOLDER, _A_FOLDER)]

_MOUNT_PATH = r"(?!/dev/shm(/|$))/[^:\s]+"
_A_MOUNT_PATH = "an absolute path other than /dev/shm, such as /fsx"


class SharedVolume(Spec):
    """A shared file system in the ranks' containers.

    Attributes:
        claim: Name of a PersistentVolumeClaim in the job's namespace. Default: that of the cluster's Lustre.
        mount_path: Where the ranks see it. Default: /fsx.
    """

    claim: Annotated[str, Checked(dns_subdomain)] = LUSTRE_CLAIM
    mount_path: Annotated[str, Checked(matches, _MOUNT_PATH, _A_MOUNT_PATH)] = "/fsx"

    def path(self, folder: str) -> str:
        """Return where the ranks see a folder of the file system."""
        return f"{self.mount_path.rstrip('/')}/{folder.rstrip('/')}"

    def to_wire(self, name: str) -> dict[str, Any]:
        """Return the pod's volume with a name, in the Kubernetes wire format."""
        return {"name": name, "persistentVolumeClaim": {"claimName": self.claim}}

    def to_mount(self, name: str) -> dict[str, str]:
        """Return the container's mount of the volume with that name."""
        return {"name": name, "mountPath": self.mount_path}


def shared_volumes(name: str, volumes: Any) -> Problems:
    """Reject anything but a list of volumes, and two volumes at one path."""
    if not isinstance(volumes, list | tuple):
        yield Problem(path=(name,), given=volumes, fix="give a tuple of SharedVolume")
        return
    wrong = [replace(each, path=(name, number)) for number, volume in enumerate(volumes) for each in _a_volume(volume)]
    yield from wrong
    paths = [] if wrong else [volume.mount_path for volume in volumes]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            allowed = "another volume has the same path"
            yield Problem(path=(name, number, "mount_path"), given=path, allowed=allowed, fix="give each another path")


def _a_volume(value: Any) -> Problems:
    return instance_of("", value, SharedVolume)
