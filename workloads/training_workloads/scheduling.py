"""How a GPU node says what it is: the labels and the taint that node groups, device plugins and jobs agree on."""

from training_workloads.catalog import InstanceType

__all__ = [
    "EFA_PRESENT_LABEL",
    "EFA_RESOURCE",
    "GPU_PRESENT_LABEL",
    "GPU_RESOURCE",
    "GPU_TAINT_KEY",
    "INSTANCE_TYPE_LABEL",
    "gpu_toleration",
    "node_labels",
]

#: Extended resources, as the NVIDIA and the EFA device plugin advertise them.
GPU_RESOURCE = "nvidia.com/gpu"
EFA_RESOURCE = "vpc.amazonaws.com/efa"

#: Keeps pods that do not ask for GPUs off the GPU nodes; NVIDIA's chart tolerates this key by default.
GPU_TAINT_KEY = "nvidia.com/gpu"

#: NVIDIA's chart selects its nodes by this label (its default affinity).
GPU_PRESENT_LABEL = "nvidia.com/gpu.present"

#: The EFA plugin crash-loops on a node without EFA devices, so it is kept to the nodes with this label.
EFA_PRESENT_LABEL = "vpc.amazonaws.com/efa.present"

#: Set by the kubelet on every node (https://kubernetes.io/docs/reference/labels-annotations-taints/).
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"


def node_labels(instance_type: InstanceType) -> dict[str, str]:
    """Labels of a node group of this type."""
    labels = {}
    if instance_type.gpus:
        labels[GPU_PRESENT_LABEL] = "true"
    if instance_type.efa_interfaces:
        labels[EFA_PRESENT_LABEL] = "true"
    return labels


def gpu_toleration() -> dict[str, str]:
    """The toleration that lets a pod onto the GPU nodes."""
    return {"key": GPU_TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"}
