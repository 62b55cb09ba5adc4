"""The parts of every device plugin: a pod on each node with the device, which advertises it to the kubelet."""

from cdk8s_plus_27 import k8s

__all__ = ["device_plugin", "directory"]

# Where a plugin creates its socket and finds the kubelet's
# (https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/device-plugins/).
_SOCKETS = "/var/lib/kubelet/device-plugins"

_NAMESPACE = "kube-system"


def device_plugin(
    name: str,
    *,
    image: str,
    node_label: str,
    security_context: k8s.SecurityContext,
    requests: dict[str, str],
    environment: dict[str, str] | None = None,
    volumes: tuple[k8s.Volume, ...] = (),
    host_network: bool | None = None,
) -> k8s.KubeDaemonSetProps:
    """Return the DaemonSet of a device plugin in `kube-system`.

    Args:
        name: Name of the DaemonSet. That of the Helm release, so that the API server rejects a second plugin.
        image: Address of the image.
        node_label: Label whose value is "true" on the nodes that have the device.
        security_context: Rights of the plugin.
        requests: CPU and memory that are reserved for it.
        environment: Variables of the plugin.
        volumes: Folders of the node besides that of the sockets, each mounted at its path.
        host_network: Whether it runs in the node's network. Default: in a pod network.
    """
    labels = {"app.kubernetes.io/name": name}
    folders = [directory("device-plugins", _SOCKETS, kind="Directory"), *volumes]
    container = k8s.Container(
        name=name,
        image=image,
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
    return k8s.KubeDaemonSetProps(
        metadata=k8s.ObjectMeta(name=name, namespace=_NAMESPACE, labels=labels),
        spec=k8s.DaemonSetSpec(
            selector=k8s.LabelSelector(match_labels=labels),
            template=k8s.PodTemplateSpec(metadata=k8s.ObjectMeta(labels=labels), spec=pod),
        ),
    )


def directory(name: str, path: str, *, kind: str | None = None) -> k8s.Volume:
    """Return a folder of the node.

    Args:
        name: Name of the volume in the pod.
        path: Path on the node.
        kind: What must exist there (`hostPath.type`). Default: not checked.
    """
    return k8s.Volume(name=name, host_path=k8s.HostPathVolumeSource(path=path, type=kind))


def _path(volume: k8s.Volume) -> str:
    assert volume.host_path is not None
    return str(volume.host_path.path)
