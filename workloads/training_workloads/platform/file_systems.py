"""Existing file systems as AWS describes them, for their volumes in a cluster."""

from dataclasses import dataclass
from typing import Any

from training_workloads.names import ID_DIGITS, aws_id
from training_workloads.validation import Problem, Problems, at_least, check, matches

__all__ = [
    "EfsAttributes",
    "LustreAttributes",
    "efs_access_point_id",
    "efs_id",
    "lustre_dns_name",
    "lustre_id",
    "lustre_mount_name",
]

_SHOWS_LUSTRE = "aws fsx describe-file-systems"

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_FileSystem.html: the name alone, without @tcp:/ and a path.
_LUSTRE_DNS_NAME = rf"(fs|fc)i?-{ID_DIGITS}(\.[A-Za-z0-9-]+)+"

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_LustreFileSystemConfiguration.html
_LUSTRE_MOUNT_NAME = r"[A-Za-z0-9_-]{1,8}"


def lustre_id(name: str, value: Any) -> Problems:
    """Reject text other than the id of a file system of FSx."""
    yield from aws_id(name, value, "fs", _SHOWS_LUSTRE)


def lustre_dns_name(name: str, value: Any) -> Problems:
    """Reject other DNS names than FSx assigns."""
    example = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
    yield from matches(name, value, _LUSTRE_DNS_NAME, f"the name alone, as DNSName of {_SHOWS_LUSTRE}: {example}")


def lustre_mount_name(name: str, value: Any) -> Problems:
    """Reject other mount names than FSx assigns."""
    yield from matches(name, value, _LUSTRE_MOUNT_NAME, f"MountName of {_SHOWS_LUSTRE}, at most 8 characters")


def efs_id(name: str, value: Any) -> Problems:
    """Reject text other than the id of a file system of EFS."""
    yield from aws_id(name, value, "fs", "aws efs describe-file-systems")


def efs_access_point_id(name: str, value: Any) -> Problems:
    """Reject text other than the id of an access point of EFS."""
    yield from aws_id(name, value, "fsap", "aws efs describe-access-points")


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreAttributes:
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
        check(
            lustre_id("file_system_id", self.file_system_id),
            lustre_dns_name("dns_name", self.dns_name),
            lustre_mount_name("mount_name", self.mount_name),
            at_least("capacity_gib", self.capacity_gib, 1),
        )
        check(_of_one_file_system(self))


def _of_one_file_system(lustre: LustreAttributes) -> Problems:
    label = lustre.dns_name.partition(".")[0]
    if label.startswith("fs-") and label != lustre.file_system_id:
        allowed = f"'file_system_id' is {lustre.file_system_id!r}"
        yield Problem(path=("dns_name",), given=lustre.dns_name, allowed=allowed, fix="give both of one file system")


@dataclass(frozen=True, kw_only=True, slots=True)
class EfsAttributes:
    """An access point of an EFS file system, as `aws efs describe-access-points` shows it.

    Attributes:
        file_system_id: `fs-…`.
        access_point_id: `fsap-…`; its user owns what jobs write.
    """

    file_system_id: str
    access_point_id: str

    def __post_init__(self) -> None:
        """Check the forms that AWS gives these values."""
        check(
            efs_id("file_system_id", self.file_system_id),
            efs_access_point_id("access_point_id", self.access_point_id),
        )
