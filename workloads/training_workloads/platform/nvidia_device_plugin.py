"""NVIDIA's device plugin as a DaemonSet, for clusters that the CDK stack did not create."""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.nodes import GPU_PRESENT_LABEL
from training_workloads.catalog.versions import NVIDIA_DEVICE_PLUGIN
from training_workloads.platform.device_plugin import device_plugin
from training_workloads.platform.mirror import mirrored

__all__ = ["NvidiaDevicePluginChart"]


class NvidiaDevicePluginChart(cdk8s.Chart):
    """Advertises the GPUs (`nvidia.com/gpu`) of every node with the label `nvidia.com/gpu.present=true`.

    A cluster with NVIDIA's GPU Operator has the plugin already: two of them allocate the same GPU twice. The nodes need
    NVIDIA's driver, and its container runtime as the default one, as EKS's AL2023 NVIDIA AMI has them.
    """

    def __init__(self, scope: Construct, id: str, *, mirror: str | None = None) -> None:
        """Define the chart.

        Args:
            scope: A cdk8s app, or any construct for embedding.
            id: Id in the scope.
            mirror: Registry with a copy of the image. Default: NVIDIA's.
        """
        super().__init__(scope, id)
        release = NVIDIA_DEVICE_PLUGIN
        plugin = device_plugin(
            release.chart,
            image=mirrored(f"{release.image}:{release.image_tag}", mirror),
            node_label=GPU_PRESENT_LABEL,
            # With these the runtime gives the pod all GPUs, and the driver's library that reads them.
            environment={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
            # As in NVIDIA's own manifest (deployments/static/nvidia-device-plugin.yml of NVIDIA/k8s-device-plugin); its
            # chart adds SYS_ADMIN for MIG, which training does not use.
            security_context=k8s.SecurityContext(
                allow_privilege_escalation=False, capabilities=k8s.Capabilities(drop=["ALL"])
            ),
            # NVIDIA names none; these are the EFA plugin's, with room for the driver's library. Not measured.
            requests={"cpu": "10m", "memory": "64Mi"},
        )
        k8s.KubeDaemonSet(self, "DaemonSet", metadata=plugin.metadata, spec=plugin.spec)
