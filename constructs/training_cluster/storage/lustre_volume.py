"""A Lustre file system as a volume of a cluster."""

from typing import Any

import cdk8s
from aws_cdk import Token, Tokenization
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from training_cluster.checks import is_a, valid_cluster, valid_mirror
from training_cluster.storage.cluster_volume import Volume, valid_nodes
from training_cluster.storage.lustre_file_system import LustreFileSystemBase, open_lustre_ports
from training_workloads import LustreVolumeChart
from training_workloads.jobs.volumes import LUSTRE_CLAIM
from training_workloads.validation import Problem, Problems, check

__all__ = ["LustreVolume", "capacity_text", "valid_lustre"]


class LustreVolume(Volume):
    """The file system as a static volume and a claim in the cluster, with open ports between servers and nodes.

    A volume cannot change its file system: when the file system is replaced, delete the claim and the volume of the old
    one first.

    Attributes:
        manifest: The volume, the claim and the Job that gives the jobs' folders to their user.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: eks.ICluster | eks.Cluster,
        file_system: LustreFileSystemBase | fsx.LustreFileSystem,
        claim: str = LUSTRE_CLAIM,
        namespace: str = "default",
        mirror: str | None = None,
    ) -> None:
        """Define the volume.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the FSx CSI driver.
            file_system: The file system: one of this library, imported or not, or one of the CDK.
            claim: Name of the claim, and of the volume. Default: the one that jobs mount.
            namespace: Namespace of the claim, and so of the jobs; it must exist. Default: `default`.
            mirror: ECR registry with a copy of the ownership Job's image. Default: the public one.

        Raises:
            InputError: The cluster has no kubectl, or such a volume from another construct; the file system is of
                another kind or its stack waits for this one, `mirror` is not an ECR registry, or Kubernetes
                does not allow a name.
        """
        check(
            valid_cluster("cluster", cluster),
            valid_lustre("file_system", file_system),
            valid_nodes("cluster", cluster, file_system),
            valid_mirror(mirror),
        )
        super().__init__(scope, id, cluster=cluster, file_system=file_system, claim=claim)
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
        self._apply(chart, namespace=namespace, after=(file_system, self._open_ports(file_system)))

    def _open_ports(self, file_system: LustreFileSystemBase | fsx.LustreFileSystem) -> Construct:
        scope = Construct(self, "Ports")
        open_lustre_ports(scope, file_system, self._cluster.cluster_security_group)
        return scope


def valid_lustre(name: str, file_system: Any) -> Problems:
    """Reject what is not a Lustre file system, and what CDK imported without the name that clients mount."""
    if not is_a(file_system, "mount_name"):
        fix = "give a LustreFileSystem, or import one with LustreFileSystem.from_lustre_file_system_attributes"
        yield Problem(path=(name,), given=file_system, fix=fix)


def capacity_text(file_system: LustreFileSystemBase | fsx.LustreFileSystem) -> str:
    """Return the storage in GiB as text, which may be a token."""
    if isinstance(file_system, LustreFileSystemBase):
        return str(file_system.capacity_gib)
    resource = file_system.node.default_child
    assert isinstance(resource, fsx.CfnFileSystem)
    gib = resource.storage_capacity
    assert gib is not None
    return Tokenization.stringify_number(gib) if Token.is_unresolved(gib) else f"{gib:.0f}"
