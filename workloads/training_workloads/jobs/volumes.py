"""Shared file systems as a job mounts them."""

from dataclasses import dataclass
from typing import Any

from training_workloads.names import check_dns_subdomain
from training_workloads.validation import check_text

__all__ = ["EFS_CLAIM", "LUSTRE_CLAIM", "RUNS_DIRECTORY", "SHARED_DIRECTORIES", "SharedVolume", "check_folder"]

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
        """Checks what the API server would refuse."""
        check_dns_subdomain("claim", self.claim)
        check_text("mount_path", self.mount_path, _MOUNT_PATH, "an absolute path other than /dev/shm, such as /fsx")

    def path(self, folder: str) -> str:
        """Where the ranks see a folder of the file system."""
        return f"{self.mount_path.rstrip('/')}/{folder.rstrip('/')}"

    def to_wire(self, name: str) -> dict[str, Any]:
        """The pod's volume as it stands in the manifest, under a name of its own."""
        return {"name": name, "persistentVolumeClaim": {"claimName": self.claim}}

    def to_mount(self, name: str) -> dict[str, str]:
        """The container's mount of the volume with that name."""
        return {"name": name, "mountPath": self.mount_path}


def check_folder(argument: str, value: Any) -> None:
    """Refuses what is not a folder of a file system, seen from its root.

    Args:
        argument: What the user set, spelled as they typed it.
        value: What they gave.

    Raises:
        InputError: `value` is not a string, begins with a slash, or leads out of the file system.
    """
    check_text(argument, value, _FOLDER, "a folder of the file system without a slash first, such as data/imagenet")
