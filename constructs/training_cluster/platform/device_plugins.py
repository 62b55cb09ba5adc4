"""The device plugins that make GPUs and EFA interfaces countable for the scheduler."""

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_eks_v2 as eks
from constructs import Construct

from training_workloads import InputError
from training_workloads.catalog.versions import EFA_DEVICE_PLUGIN, NVIDIA_DEVICE_PLUGIN, HelmRelease
from training_workloads.scheduling import EFA_PRESENT_LABEL, EFA_RESOURCE, GPU_RESOURCE, gpu_toleration

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
            cluster: The cluster with the GPU nodes. One that NVIDIA's GPU Operator manages has the plugin already.

        Raises:
            InputError: The cluster has this plugin from another construct.
        """
        super().__init__(scope, id)
        _claim(self, cluster, GPU_RESOURCE)
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

        Raises:
            InputError: The cluster has this plugin from another construct.
        """
        super().__init__(scope, id)
        _claim(self, cluster, EFA_RESOURCE)
        values = {"nodeSelector": {EFA_PRESENT_LABEL: "true"}, "tolerations": [gpu_toleration()]}
        self.chart = _release(self, cluster, EFA_DEVICE_PLUGIN, values)


class _Owner(Construct):
    """Marks in the tree that a device of a cluster has a plugin."""

    def __init__(self, scope: Construct, id: str, *, path: str) -> None:
        super().__init__(scope, id)
        self.path = path


def _claim(plugin: Construct, cluster: eks.ICluster, device: str) -> None:
    """Two plugins for one device register twice with the kubelet, and pods are given devices that others use."""
    # Beside the cluster: jsii takes an imported one for no construct. An id cannot hold the slash of a device's name.
    stack, id = Stack.of(cluster), f"Owner of {device.replace('/', ' ')} in {cluster.node.addr}"
    owner = stack.node.try_find_child(id)
    if isinstance(owner, _Owner):
        raise InputError(
            f"'{plugin.node.path}' is a second plugin for {device} in one cluster; "
            f"keep that of {owner.path!r} and remove this one"
        )
    _Owner(stack, id, path=plugin.node.path)


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
