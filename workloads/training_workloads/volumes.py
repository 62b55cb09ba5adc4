"""Shared file systems: the claim that a job mounts, and the static volume behind it."""

from dataclasses import dataclass
from typing import Any

__all__ = ["LUSTRE_CLAIM", "SHARED_DIRECTORIES", "SharedVolume"]

#: Name of the PersistentVolumeClaim of the cluster's Lustre file system.
LUSTRE_CLAIM = "training-lustre"

#: Folders at the root of the file system that belong to the jobs' user.
SHARED_DIRECTORIES = ("data", "runs")


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedVolume:
    """A shared file system in the ranks' containers.

    Attributes:
        claim: Name of a PersistentVolumeClaim in the job's namespace. Default: that of the cluster's Lustre.
        mount_path: Where the ranks see it.
    """

    claim: str = LUSTRE_CLAIM
    mount_path: str = "/fsx"

    def to_wire(self) -> dict[str, Any]:
        """The pod's volume as it stands in the manifest."""
        return {"name": self.claim, "persistentVolumeClaim": {"claimName": self.claim}}

    def to_mount(self) -> dict[str, str]:
        """The container's mount of it."""
        return {"name": self.claim, "mountPath": self.mount_path}
