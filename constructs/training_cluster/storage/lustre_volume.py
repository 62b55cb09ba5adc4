"""A Lustre file system as a volume of a cluster."""

from dataclasses import dataclass

import cdk8s
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_cluster.security.findings import accept
from training_cluster.storage.lustre_file_system import LustreFileSystem
from training_workloads import LustreVolumeChart
from training_workloads.volumes import LUSTRE_CLAIM

__all__ = ["ExistingLustreFileSystem", "LustreVolume"]


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
    ) -> None:
        """Defines the volume.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the FSx CSI driver.
            file_system: The file system.
            claim: Name of the claim, and of the volume. Default: the one that jobs mount.
            namespace: Namespace of the claim, and so of the jobs; it must exist. Default: `default`.
        """
        super().__init__(scope, id)
        chart = LustreVolumeChart(
            cdk8s.App(),
            "Volume",
            file_system_id=file_system.file_system_id,
            dns_name=file_system.dns_name,
            mount_name=file_system.mount_name,
            capacity_gib=file_system.capacity_gib,
            claim=claim,
            namespace=namespace,
        )
        self.manifest = eks.KubernetesManifest(self, "Resource", cluster=cluster, manifest=chart.to_json())
        accept(self.manifest, "CDK writes down a dependency that a reference implies", "W3005")
        if isinstance(file_system, LustreFileSystem):
            # Pods may mount it when its ports are open and the metadata of the bucket's objects is there, and both
            # must stay until the last pod has let go.
            self.manifest.node.add_dependency(file_system)
