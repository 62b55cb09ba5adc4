"""A Lustre file system as a volume of a cluster."""

from typing import Annotated, Any

import cdk8s
from aws_cdk import Token, Tokenization
from aws_cdk import aws_fsx as fsx
from constructs import Construct

from training_cluster.checks import Cluster, Mirror, has
from training_cluster.lifecycle import after_admission, after_namespaces
from training_cluster.storage.cluster_volume import Volume, share_with_teams, valid_nodes
from training_cluster.storage.lustre_file_system import LustreFileSystemBase, open_lustre_ports
from training_workloads import LustreFoldersChart, LustreVolumeChart
from training_workloads.jobs.volumes import LUSTRE_CLAIM
from training_workloads.keywords import keywords_of
from training_workloads.spec import Checked, Spec
from training_workloads.validation import check

__all__ = ["Lustre", "LustreVolume", "LustreVolumeOptions", "capacity_text"]


#: A Lustre file system; CDK may have imported one without the name that clients mount.
Lustre = Annotated[
    LustreFileSystemBase | fsx.LustreFileSystem,
    Checked(
        has,
        "mount_name",
        "give a LustreFileSystem, or import one with LustreFileSystem.from_lustre_file_system_attributes",
    ),
]


class LustreVolumeOptions(Spec):
    """The keywords of `add_lustre` for the volume.

    Attributes:
        claim: Name of the claim, and of the volume. Jobs mount the default.
        mirror: ECR registry with a copy of the ownership Job's image. Default: the public one.
    """

    claim: str = LUSTRE_CLAIM
    mirror: Mirror | None = None


class LustreVolumeProps(LustreVolumeOptions):
    """The keywords of `LustreVolume`.

    Attributes:
        cluster: The cluster with the FSx CSI driver.
        file_system: The file system: one of this library, imported or not, or one of the CDK.
        namespace: Namespace of the claim, and so of the jobs; it must exist.
    """

    cluster: Cluster
    file_system: Lustre
    namespace: str = "default"


class LustreVolume(Volume):
    """The file system as a static volume and a claim in the cluster, with open ports between servers and nodes.

    A volume cannot change its file system: when the file system is replaced, delete the claim and the volume of the old
    one first.

    Attributes:
        file_system: The file system.
        address: Its address, as the keywords of `LustreVolumeChart`.
        mirror: ECR registry with a copy of the ownership Job's image; None for the public one.
        manifest: The volume and the claim.
        folders: The Job that gives the jobs' folders to their user, in the namespace `training-system`.
    """

    @keywords_of(LustreVolumeProps)
    def __init__(self, scope: Construct, id: str, props: LustreVolumeProps) -> None:
        """Define the volume.

        Raises:
            InputError: The cluster has no kubectl, or such a volume from another construct; the file system is of
                another kind or its stack waits for this one, `mirror` is not an ECR registry, or Kubernetes
                does not allow a name.
        """
        file_system = props.file_system
        check(valid_nodes("cluster", props.cluster, file_system))
        super().__init__(scope, id, cluster=props.cluster, file_system=file_system, claim=props.claim)
        self.file_system, self.mirror = file_system, props.mirror
        self.address: dict[str, Any] = {
            "file_system_id": file_system.file_system_id,
            "dns_name": file_system.dns_name,
            "mount_name": file_system.mount_name,
            "capacity_gib": capacity_text(file_system),
        }
        after = (file_system, self._open_ports(file_system))
        lustre = {**self.address, "claim": props.claim}
        volume = LustreVolumeChart(cdk8s.App(), "Volume", **lustre, namespace=props.namespace)
        self.manifest = self._apply("Resource", volume, after=after)
        after_namespaces(self.manifest, self._cluster, props.namespace)
        # A separate manifest: that of the volume deletes what left it, as the Job of an earlier release.
        folders = LustreFoldersChart(cdk8s.App(), "Folders", **lustre, mirror=props.mirror)
        self.folders = self._apply("Folders", folders, after=after)
        after_admission(self.folders, self._cluster)
        share_with_teams(self, props.cluster)

    def _open_ports(self, file_system: LustreFileSystemBase | fsx.LustreFileSystem) -> Construct:
        scope = Construct(self, "Ports")
        open_lustre_ports(scope, file_system, self._cluster.cluster_security_group)
        return scope


def capacity_text(file_system: LustreFileSystemBase | fsx.LustreFileSystem) -> str:
    """Return the storage in GiB as text, which may be a token."""
    if isinstance(file_system, LustreFileSystemBase):
        return str(file_system.capacity_gib)
    resource = file_system.node.default_child
    assert isinstance(resource, fsx.CfnFileSystem)
    gib = resource.storage_capacity
    assert gib is not None
    return Tokenization.stringify_number(gib) if Token.is_unresolved(gib) else f"{gib:.0f}"
