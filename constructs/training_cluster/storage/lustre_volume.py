"""A Lustre file system as a volume of a cluster."""

from dataclasses import dataclass

import cdk8s
from aws_cdk import Token, Tokenization
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.checks import check_cluster, check_id, check_is
from training_cluster.owner import own
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_cluster.storage.volume_manifest import volume_manifest
from training_workloads import LustreVolumeChart
from training_workloads.jobs.volumes import LUSTRE_CLAIM
from training_workloads.validation import check_at_least, check_text, enforce

__all__ = ["ExistingLustreFileSystem", "LustreVolume", "capacity_text"]

_SHOWS = "aws fsx describe-file-systems"

# https://docs.aws.amazon.com/fsx/latest/APIReference/API_LustreFileSystemConfiguration.html
_MOUNT_NAME = r"[A-Za-z0-9_-]{1,8}"
_DNS_NAME = r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingLustreFileSystem:
    """A file system that was made elsewhere; `aws fsx describe-file-systems` shows all four values.

    Its security group must let the nodes in on TCP 988 and 1018 to 1023.

    Attributes:
        file_system_id: `fs-…`.
        dns_name: DNS name that clients mount.
        mount_name: FSx's name for the root of the file system.
        capacity_gib: Storage in GiB, as the volume shows it.
    """

    file_system_id: str
    dns_name: str
    mount_name: str
    capacity_gib: int

    def __post_init__(self) -> None:
        """Checks what no pod could mount."""
        enforce(self, (_check_id, _check_dns_name, _check_mount_name, _check_capacity))


def _check_id(existing: ExistingLustreFileSystem) -> None:
    check_id("file_system_id", existing.file_system_id, "fs", _SHOWS)


def _check_dns_name(existing: ExistingLustreFileSystem) -> None:
    if not Token.is_unresolved(existing.dns_name):
        check_text("dns_name", existing.dns_name, _DNS_NAME, f"the name alone, as DNSName of {_SHOWS}")


def _check_mount_name(existing: ExistingLustreFileSystem) -> None:
    if not Token.is_unresolved(existing.mount_name):
        check_text("mount_name", existing.mount_name, _MOUNT_NAME, f"MountName of {_SHOWS}, at most 8 characters")


def _check_capacity(existing: ExistingLustreFileSystem) -> None:
    if not Token.is_unresolved(existing.capacity_gib):
        check_at_least("capacity_gib", existing.capacity_gib, 1)


def capacity_text(file_system: LustreFileSystem | ExistingLustreFileSystem) -> str:
    """Storage in GiB, or text that stands for it where only the deployment knows it."""
    gib = file_system.capacity_gib
    return gib if isinstance(gib, str) else Tokenization.stringify_number(gib)


class LustreVolume(Construct):
    """The file system as a static volume and a claim in the cluster.

    A volume cannot be pointed at another file system: when the file system is replaced, delete the claim and the
    volume of the old one first.

    Attributes:
        manifest: The volume, the claim and the Job that hands the jobs' folders to their user.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster,
        file_system: LustreFileSystem | ExistingLustreFileSystem,
        claim: str = LUSTRE_CLAIM,
        namespace: str = "default",
        mirror: str | None = None,
    ) -> None:
        """Defines the volume.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the FSx CSI driver.
            file_system: The file system.
            claim: Name of the claim, and of the volume. Default: the one that jobs mount.
            namespace: Namespace of the claim, and so of the jobs; it must exist. Default: `default`.
            mirror: ECR registry with a copy of the ownership Job's image. Default: the public one.

        Raises:
            InputError: The cluster has no kubectl, or such a volume from another construct; the file system is of
                another kind, or a name is not one of Kubernetes.
        """
        super().__init__(scope, id)
        check_cluster("cluster", cluster)
        check_is("file_system", file_system, LustreFileSystem, ExistingLustreFileSystem)
        own(self, cluster, f"volume {claim}")
        chart = LustreVolumeChart(
            cdk8s.App(),
            "Volume",
            file_system_id=file_system.file_system_id,
            dns_name=file_system.dns_name,
            mount_name=file_system.mount_name,
            capacity_gib=capacity_text(file_system),
            claim=claim,
            namespace=namespace,
            mirror=mirror,
        )
        self.manifest = volume_manifest(self, cluster=cluster, chart=chart, file_system=file_system)
