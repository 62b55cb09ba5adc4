"""The device plugins as DaemonSets, for clusters that the CDK stack did not create.

A plugin is a pod on each node with the device, which advertises it to the kubelet.
"""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.images import EFA_DEVICE_PLUGIN_IMAGE, NVIDIA_DEVICE_PLUGIN_IMAGE, Image
from training_workloads.catalog.nodes import EFA_PRESENT_LABEL, GPU_PRESENT_LABEL
from training_workloads.catalog.versions import EFA_DEVICE_PLUGIN, NVIDIA_DEVICE_PLUGIN, HelmRelease
from training_workloads.platform.mirror import mirrored

__all__ = ["EfaDevicePluginChart", "NvidiaDevicePluginChart"]

# Where a plugin creates its socket and finds the kubelet's
# (https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/).
_SOCKETS = "/var/lib/kubelet/device-plugins"

_NAMESPACE = "kube-system"


class NvidiaDevicePluginChart(cdk8s.Chart):
    """Advertises the GPUs (`nvidia.com/gpu`) of every node with the label `nvidia.com/gpu.present=true`.

    A cluster with NVIDIA's GPU Operator has the plugin already: two of them allocate the same GPU twice. The nodes need
    NVIDIA's driver, and its container runtime as the default one, as EKS's AL2023 NVIDIA AMI has them.
    """

    def __init__(self, scope: Construct, id: str, *, mirror: str | None = None) -> None:
        """Define the chart.

        Args:
            mirror: Registry with a copy of the image. Default: NVIDIA's.
        """
        super().__init__(scope, id)
        _define_plugin(
            self,
            NVIDIA_DEVICE_PLUGIN,
            NVIDIA_DEVICE_PLUGIN_IMAGE,
            mirror=mirror,
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


class EfaDevicePluginChart(cdk8s.Chart):
    """Advertises the EFA interfaces (`vpc.amazonaws.com/efa`) of every node that has the label.

    The label is `vpc.amazonaws.com/efa.present=true` and not the instance type, because on a node of such a type that
    was started without EFA the plugin crashes in a loop (https://github.com/aws/eks-charts/issues/1239).
    """

    def __init__(self, scope: Construct, id: str, *, mirror: str | None = None) -> None:
        """Define the chart.

        Args:
            mirror: Registry with a copy of the image. Default: AWS's.
        """
        super().__init__(scope, id)
        # All as in AWS's chart (stable/aws-efa-k8s-device-plugin of aws/eks-charts) but the toleration: the chart has
        # none for the taint of GPU nodes.
        _define_plugin(
            self,
            EFA_DEVICE_PLUGIN,
            EFA_DEVICE_PLUGIN_IMAGE,
            mirror=mirror,
            node_label=EFA_PRESENT_LABEL,
            # It opens the node's InfiniBand devices.
            security_context=k8s.SecurityContext(privileged=True, run_as_user=0, allow_privilege_escalation=True),
            requests={"cpu": "10m", "memory": "20Mi"},
            volumes=(
                _directory("infiniband", "/dev/infiniband"),
                _directory("neuron", "/opt/aws/neuron", kind="DirectoryOrCreate"),
            ),
            # The pod's own network shows none of the node's interfaces.
            host_network=True,
        )


def _define_plugin(
    chart: cdk8s.Chart,
    release: HelmRelease,
    image: Image,
    *,
    mirror: str | None,
    node_label: str,
    security_context: k8s.SecurityContext,
    requests: dict[str, str],
    environment: dict[str, str] | None = None,
    volumes: tuple[k8s.Volume, ...] = (),
    host_network: bool | None = None,
) -> None:
    """Define the DaemonSet of a device plugin in `kube-system`.

    It has the release's name too, so that the API server rejects a second plugin. Each volume is mounted at its path.
    """
    name = release.chart
    labels = {"app.kubernetes.io/name": name}
    folders = [_directory("device-plugins", _SOCKETS, kind="Directory"), *volumes]
    container = k8s.Container(
        name=name,
        image=str(mirrored(image, mirror)),
        env=[k8s.EnvVar(name=variable, value=value) for variable, value in (environment or {}).items()] or None,
        security_context=security_context,
        resources=k8s.ResourceRequirements(
            requests={resource: k8s.Quantity.from_string(amount) for resource, amount in requests.items()}
        ),
        volume_mounts=[k8s.VolumeMount(name=each.name, mount_path=_path(each)) for each in folders],
    )
    pod = k8s.PodSpec(
        containers=[container],
        volumes=folders,
        node_selector={node_label: "true"},
        # The plugin must run on such a node whatever its taints.
        tolerations=[k8s.Toleration(operator="Exists")],
        # Without the plugin no job can use the node.
        priority_class_name="system-node-critical",
        automount_service_account_token=False,
        host_network=host_network,
    )
    k8s.KubeDaemonSet(
        chart,
        "DaemonSet",
        metadata=k8s.ObjectMeta(name=name, namespace=_NAMESPACE, labels=labels),
        spec=k8s.DaemonSetSpec(
            selector=k8s.LabelSelector(match_labels=labels),
            template=k8s.PodTemplateSpec(metadata=k8s.ObjectMeta(labels=labels), spec=pod),
        ),
    )


def _directory(name: str, path: str, *, kind: str | None = None) -> k8s.Volume:
    """Return a folder of the node; `kind` is the kind of file that must exist there (`hostPath.type`)."""
    return k8s.Volume(name=name, host_path=k8s.HostPathVolumeSource(path=path, type=kind))


def _path(volume: k8s.Volume) -> str:
    assert volume.host_path is not None
    return str(volume.host_path.path)
