"""Existing file systems as AWS describes them, for their volumes in a cluster."""

from dataclasses import dataclass

from training_workloads.validation import Problems, at_least, enforce, matches

__all__ = ["ElasticFileSystem", "LustreFileSystem"]

_LOWER_HEX = "8 or more digits and letters from a to f"

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_FileSystem.html and API_LustreFileSystemConfiguration.html
_LUSTRE_ID = r"fs-[0-9a-f]{8,}"
_LUSTRE_DNS_NAME = r"((fs|fc)i?-[0-9a-f]{8,}\..{4,253})"
_LUSTRE_MOUNT_NAME = r"[A-Za-z0-9_-]{1,8}"

# https://docs.aws.amazon.com/efs/latest/ug/API_AccessPointDescription.html
_EFS_ID = r"fs-[0-9a-f]{8,40}"
_EFS_ACCESS_POINT_ID = r"fsap-[0-9a-f]{8,40}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreFileSystem:
    """An FSx for Lustre file system, as `aws fsx describe-file-systems` shows it.

    Attributes:
        file_system_id: `fs-…`.
        dns_name: `fs-….fsx.<region>.amazonaws.com`.
        mount_name: FSx's mount name.
        capacity_gib: Storage capacity in GiB.
    """

    file_system_id: str
    dns_name: str
    mount_name: str
    capacity_gib: int

    def __post_init__(self) -> None:
        """Check the forms that AWS gives these values."""
        enforce(self, (_lustre_id, _dns_name, _mount_name, _capacity))


@dataclass(frozen=True, kw_only=True, slots=True)
class ElasticFileSystem:
    """An access point of an EFS file system, as `aws efs describe-access-points` shows it.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`; its user owns what jobs write.
    """

    file_system_id: str
    access_point_id: str

    def __post_init__(self) -> None:
        """Check the forms that AWS gives these values."""
        enforce(self, (_efs_id, _access_point))


def _lustre_id(lustre: LustreFileSystem) -> Problems:
    yield from matches("file_system_id", lustre.file_system_id, _LUSTRE_ID, f"'fs-' and {_LOWER_HEX}")


def _dns_name(lustre: LustreFileSystem) -> Problems:
    form = "the name that FSx assigned, such as fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
    yield from matches("dns_name", lustre.dns_name, _LUSTRE_DNS_NAME, form)


def _mount_name(lustre: LustreFileSystem) -> Problems:
    form = "the 8 or fewer letters, digits, '_' and '-' that FSx assigned"
    yield from matches("mount_name", lustre.mount_name, _LUSTRE_MOUNT_NAME, form)


def _capacity(lustre: LustreFileSystem) -> Problems:
    yield from at_least("capacity_gib", lustre.capacity_gib, 1)


def _efs_id(efs: ElasticFileSystem) -> Problems:
    yield from matches("file_system_id", efs.file_system_id, _EFS_ID, f"'fs-' and {_LOWER_HEX}, at most 40")


def _access_point(efs: ElasticFileSystem) -> Problems:
    form = f"'fsap-' and {_LOWER_HEX}, at most 40"
    yield from matches("access_point_id", efs.access_point_id, _EFS_ACCESS_POINT_ID, form)
