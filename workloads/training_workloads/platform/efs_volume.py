"""A static PersistentVolume and its claim for an access point of an existing Elastic File System."""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.jobs.volumes import EFS_CLAIM
from training_workloads.platform.static_volume import DEFAULT_NAMESPACE, add_static_volume

__all__ = ["EfsVolumeChart"]

_DRIVER = "efs.csi.aws.com"


class EfsVolumeChart(cdk8s.Chart):
    """The volume and the claim that jobs mount; what they write belongs to the access point's user."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        access_point_id: str,
        claim: str = EFS_CLAIM,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        """Define the chart.

        Args:
            file_system_id: `fs-…`.
            access_point_id: `fsap-…`.
            claim: Name of the claim, and of its volume, which contains the namespace's name too outside of `default`.
            namespace: Namespace of the claim, and so of the jobs.

        Raises:
            InputError: A name is not one of Kubernetes.
        """
        super().__init__(scope, id)
        # https://github.com/kubernetes-sigs/aws-efs-csi-driver/tree/master/examples/kubernetes/access_points
        source = k8s.CsiPersistentVolumeSource(
            driver=_DRIVER,
            volume_handle=f"{file_system_id}::{access_point_id}",
            volume_attributes={"encryptInTransit": "true"},
        )
        add_static_volume(self, source, claim=claim, namespace=namespace)
