"""The device plugins that make GPUs and EFA interfaces countable for the scheduler."""

from typing import Any

from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_workloads.catalog.versions import EFA_DEVICE_PLUGIN, NVIDIA_DEVICE_PLUGIN, HelmRelease
from training_workloads.scheduling import EFA_PRESENT_LABEL, gpu_toleration

__all__ = ["EfaDevicePlugin", "NvidiaDevicePlugin"]

_NAMESPACE = "kube-system"


class NvidiaDevicePlugin(Construct):
    """NVIDIA's device plugin on every node labelled `nvidia.com/gpu.present=true`.

    Attributes:
        chart: The Helm release.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        """Defines the release.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the GPU nodes.
        """
        super().__init__(scope, id)
        self.chart = _release(self, cluster, NVIDIA_DEVICE_PLUGIN, {"tolerations": [gpu_toleration()]})


class EfaDevicePlugin(Construct):
    """AWS's EFA device plugin on the nodes that have EFA; elsewhere it would crash in a loop.

    Attributes:
        chart: The Helm release.
    """

    def __init__(self, scope: Construct, id: str, *, cluster: eks.ICluster) -> None:
        """Defines the release.

        Args:
            scope: A stack, or a construct in one.
            id: Id in the scope.
            cluster: The cluster with the EFA nodes.
        """
        super().__init__(scope, id)
        values = {"nodeSelector": {EFA_PRESENT_LABEL: "true"}, "tolerations": [gpu_toleration()]}
        self.chart = _release(self, cluster, EFA_DEVICE_PLUGIN, values)


def _release(scope: Construct, cluster: eks.ICluster, release: HelmRelease, values: dict[str, Any]) -> eks.HelmChart:
    return eks.HelmChart(
        scope,
        "Resource",
        cluster=cluster,
        chart=release.chart,
        repository=release.repository,
        version=release.version,
        # A fixed release name: CDK's own would carry a hash and a node would see two plugins after an id change.
        release=release.chart,
        namespace=_NAMESPACE,
        values=values,
    )
