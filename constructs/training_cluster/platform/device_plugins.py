"""The device plugins, which report GPUs and EFA interfaces to the scheduler as resources."""

from typing import Any

from aws_cdk import Aws, CfnMapping, Stack, Token
from constructs import Construct

from training_cluster.checks import Cluster, Mirror
from training_cluster.lifecycle import after_node_addons
from training_cluster.platform.helm_release import helm_release
from training_cluster.single_owner import own
from training_workloads.catalog.images import EFA_DEVICE_PLUGIN_IMAGE, NVIDIA_DEVICE_PLUGIN_IMAGE
from training_workloads.catalog.nodes import EFA_PRESENT_LABEL, EFA_RESOURCE, GPU_RESOURCE, gpu_toleration
from training_workloads.catalog.registries import EKS_REGISTRIES, efa_plugin_image, has_eks_registry
from training_workloads.catalog.versions import EFA_DEVICE_PLUGIN, NVIDIA_DEVICE_PLUGIN
from training_workloads.keywords import checked
from training_workloads.validation import check

__all__ = ["EfaDevicePlugin", "NvidiaDevicePlugin"]


class NvidiaDevicePlugin(Construct):
    """NVIDIA's device plugin on every node labelled `nvidia.com/gpu.present=true`.

    Attributes:
        chart: The Helm release.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: Cluster, mirror: Mirror | None = None) -> None:
        """Define the release.

        Args:
            cluster: The cluster with the GPU nodes: ours or one of `aws_eks_v2`. NVIDIA's GPU Operator installs the
                plugin itself.
            mirror: ECR registry with copies of chart and image. Default: NVIDIA's registry.

        Raises:
            InputError: The cluster has this plugin from another construct, or `mirror` is not an ECR registry.
        """
        super().__init__(scope, id)
        # Two plugins for one device give the same device to two pods.
        own(self, cluster, f"plugin for {GPU_RESOURCE}")
        # Without `compatWithCPUManager`, despite the static CPU manager of the nodes: docs/constructs/device-plugins.md
        values = {"tolerations": [gpu_toleration()]}
        self.chart = helm_release(
            self,
            "Resource",
            cluster=cluster,
            release=NVIDIA_DEVICE_PLUGIN,
            image=NVIDIA_DEVICE_PLUGIN_IMAGE,
            values=values,
            mirror=mirror,
        )
        after_node_addons(self, cluster)


class EfaDevicePlugin(Construct):
    """AWS's EFA device plugin on the nodes that have EFA; on others it would crash in a loop.

    Attributes:
        chart: The Helm release.
    """

    @checked
    def __init__(self, scope: Construct, id: str, *, cluster: Cluster, mirror: Mirror | None = None) -> None:
        """Define the release.

        Args:
            cluster: The cluster with the EFA nodes: ours or one of `aws_eks_v2`.
            mirror: ECR registry with copies of chart and image. Default: EKS's registry of the region.

        Raises:
            InputError: The cluster has this plugin from another construct, `mirror` is not an ECR registry, or EKS has
                no registry in the stack's region.
        """
        super().__init__(scope, id)
        own(self, cluster, f"plugin for {EFA_RESOURCE}")
        values: dict[str, Any] = {
            "nodeSelector": {EFA_PRESENT_LABEL: "true"},
            "tolerations": [gpu_toleration()],
            # Instead of the chart's list of instance types: on a type newer than the chart there would be no EFA.
            "supportedInstanceLabels": {"keys": [EFA_PRESENT_LABEL], "values": ["true"]},
        }
        if not mirror:
            # The chart's own is us-west-2's, to which nodes of GovCloud and China have no access
            # (https://github.com/aws/eks-charts/issues/420).
            values["image"] = {"repository": efa_plugin_image(_registry(self)).name}
        self.chart = helm_release(
            self,
            "Resource",
            cluster=cluster,
            release=EFA_DEVICE_PLUGIN,
            image=EFA_DEVICE_PLUGIN_IMAGE,
            values=values,
            mirror=mirror,
        )
        after_node_addons(self, cluster)


def _registry(scope: Construct) -> str:
    """Return EKS's registry of the stack's region, looked up by the deployment where only that knows the region."""
    region = Stack.of(scope).region
    if not Token.is_unresolved(region):
        check(has_eks_registry(region))
        return EKS_REGISTRIES[region]
    registries = {region: {"Address": address} for region, address in EKS_REGISTRIES.items()}
    return CfnMapping(scope, "Registries", mapping=registries).find_in_map(Aws.REGION, "Address")
