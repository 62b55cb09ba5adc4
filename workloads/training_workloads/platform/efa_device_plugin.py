"""AWS's EFA device plugin as a DaemonSet, for clusters that the CDK stack did not create."""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.nodes import EFA_PRESENT_LABEL
from training_workloads.catalog.versions import EFA_DEVICE_PLUGIN
from training_workloads.platform.device_plugin import device_plugin, directory
from training_workloads.platform.mirror import mirrored

__all__ = ["EfaDevicePluginChart"]


class EfaDevicePluginChart(cdk8s.Chart):
    """Advertises the EFA interfaces (`vpc.amazonaws.com/efa`) of every node that has the label.

    The label is `vpc.amazonaws.com/efa.present=true` and not the instance type, because on a node of such a type that
    was started without EFA the plugin crashes in a loop (https://github.com/aws/eks-charts/issues/1239).
    """

    def __init__(self, scope: Construct, id: str, *, mirror: str | None = None) -> None:
        """Define the chart.

        Args:
            scope: A cdk8s app, or any construct for embedding.
            id: Id in the scope.
            mirror: Registry with a copy of the image. Default: AWS's.
        """
        super().__init__(scope, id)
        release = EFA_DEVICE_PLUGIN
        # All as in AWS's chart (stable/aws-efa-k8s-device-plugin of aws/eks-charts) but the toleration: the chart has
        # none for the taint of GPU nodes.
        plugin = device_plugin(
            release.chart,
            image=mirrored(f"{release.image}:{release.image_tag}", mirror),
            node_label=EFA_PRESENT_LABEL,
            # It opens the node's InfiniBand devices.
            security_context=k8s.SecurityContext(privileged=True, run_as_user=0, allow_privilege_escalation=True),
            requests={"cpu": "10m", "memory": "20Mi"},
            volumes=(
                directory("infiniband", "/dev/infiniband"),
                directory("neuron", "/opt/aws/neuron", kind="DirectoryOrCreate"),
            ),
            # The pod's own network shows none of the node's interfaces.
            host_network=True,
        )
        k8s.KubeDaemonSet(self, "DaemonSet", metadata=plugin.metadata, spec=plugin.spec)
