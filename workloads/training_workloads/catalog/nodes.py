"""Devices, labels, taints and frames of GPU nodes, as node groups, device plugins and jobs use them.

The NVIDIA drivers of the nodes' AMI are `AMI_DRIVERS` in `versions.py`.
"""

from typing import Literal

from training_workloads.catalog.instance_type import InstanceType

__all__ = [
    "ACCELERATOR_LABEL",
    "CAPACITY_BLOCK",
    "CAPACITY_TYPE_LABEL",
    "DISK_RESOURCE",
    "DO_NOT_DISRUPT",
    "EFA_HUGEPAGES_MIB",
    "EFA_PRESENT_LABEL",
    "EFA_RESOURCE",
    "GPU_PRESENT_LABEL",
    "GPU_RESOURCE",
    "GPU_ROOT_VOLUME_GIB",
    "GPU_TAINT_KEY",
    "HOLD_LABEL",
    "HOSTNAME_LABEL",
    "HUGEPAGES_RESOURCE",
    "INSTANCE_TYPE_LABEL",
    "JUMBO_FRAME_BYTES",
    "KARPENTER_CAPACITY_TYPE_LABEL",
    "NAMESPACE_NAME_LABEL",
    "NODE_GROUP_LABEL",
    "PLACEMENT_GROUP_LABEL",
    "SAFE_TO_EVICT",
    "CapacityType",
    "disk_gib",
    "disk_gib_for_pods",
    "efa_hugepages",
    "gpu_toleration",
    "group_labels",
    "image_disk_gb",
    "network_labels",
    "node_devices",
    "node_labels",
    "node_resources",
    "vcpus_left_to_daemons",
]

#: Extended resources, as the NVIDIA and the EFA device plugin advertise them.
GPU_RESOURCE = "nvidia.com/gpu"
EFA_RESOURCE = "vpc.amazonaws.com/efa"
HUGEPAGES_RESOURCE = "hugepages-2Mi"

#: Disk space of a pod: what its containers write, their logs, and `emptyDir` volumes that are not in memory.
DISK_RESOURCE = "ephemeral-storage"

#: Keeps pods that request no GPUs off the GPU nodes; NVIDIA's chart tolerates this key by default.
GPU_TAINT_KEY = "nvidia.com/gpu"

#: NVIDIA's chart selects its nodes by this label (its default affinity).
GPU_PRESENT_LABEL = "nvidia.com/gpu.present"

#: The EFA plugin crashes in a loop on a node without EFA devices, so it runs only on nodes with this label.
EFA_PRESENT_LABEL = "vpc.amazonaws.com/efa.present"

#: By this label the Cluster Autoscaler recognizes a GPU node whose device plugin has not started yet, and waits for it
#: instead of starting another node
#: (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md).
ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"

#: The Cluster Autoscaler keeps a node whose pod has this annotation with "false" (FAQ of the same repository).
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"

#: The PodDisruptionBudget of training jobs holds the pods with this label, "true", and no others.
HOLD_LABEL = "training-cluster/hold"

#: Karpenter keeps a node whose pod has this annotation with "true" (https://karpenter.sh/docs/concepts/disruption/).
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"

#: The capacity type of a managed node, set by EKS
#: (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html#managed-node-group-capacity-types).
CAPACITY_TYPE_LABEL = "eks.amazonaws.com/capacityType"
CapacityType = Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"]
CAPACITY_BLOCK: CapacityType = "CAPACITY_BLOCK"

#: The capacity type of a node of Karpenter, in lower case (https://karpenter.sh/docs/concepts/scheduling/).
KARPENTER_CAPACITY_TYPE_LABEL = "karpenter.sh/capacity-type"

#: Set by Kubernetes on every namespace (https://kubernetes.io/docs/reference/labels-annotations-taints/).
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"

#: Set by the kubelet on every node (https://kubernetes.io/docs/reference/labels-annotations-taints/).
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"

#: The node group of a node by the name that the user gave: EKS's own label has the one that CloudFormation made.
NODE_GROUP_LABEL = "training-cluster/node-group"

#: The cluster placement group that a node is in, by the name of its node group; a node without one has no such label.
PLACEMENT_GROUP_LABEL = "training-cluster/placement-group"

#: The largest frame inside a VPC: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/network_mtu.html
JUMBO_FRAME_BYTES = 9001

#: Size of the root volume of a GPU node, which holds the container images where the type has no local disks.
GPU_ROOT_VOLUME_GIB = 200

# nodeadm reserves 1 GiB of the disk, and the kubelet evicts pods when less than 10 % is free, so that neither is
# allocatable (https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/config.go, read 2026-11-28).
# XFS and the array keep less than 1 % (derived). More than a node has would start nodes on which the pod has no room.
_DISK_FRACTION = 0.9 * 0.99
_DISK_RESERVED_GIB = 1

# For the kubelet, the operating system and the daemons of a node: EKS reserves under 1 vCPU and about 3 GiB on the
# large types, and each daemon (CNI, CSI, device plugins, CloudWatch agent) requests a fraction of a vCPU.
_DAEMON_VCPUS = 4
_DAEMON_VCPUS_OF_A_SMALL_NODE = 2
_SMALL_NODE_VCPUS = 16

#: libfabric's EFA provider takes its bounce buffers from 2 MiB huge pages; AWS's EFA manifests request
#: 5,120 MiB on a whole node, from p4d to p6 (https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html).
EFA_HUGEPAGES_MIB = 5120
_HUGEPAGE_MIB = 2


def group_labels(group: str, *, in_placement_group: bool) -> dict[str, str]:
    """Return the labels by which a job keeps to one group of nodes."""
    labels = {NODE_GROUP_LABEL: group}
    if in_placement_group:
        labels[PLACEMENT_GROUP_LABEL] = group
    return labels


def node_labels(instance_type: InstanceType, *, efa: bool) -> dict[str, str]:
    """Return the labels that name the devices of a node."""
    labels = {}
    if instance_type.gpu:
        labels[GPU_PRESENT_LABEL] = "true"
        labels[ACCELERATOR_LABEL] = f"nvidia-{instance_type.gpu.model.lower().replace(' ', '-')}"
    if efa:
        labels[EFA_PRESENT_LABEL] = "true"
    return labels


def image_disk_gb(instance_type: InstanceType) -> int:
    """Return the size of the disk with the container images: the array of the local disks, else the root volume.

    EC2 states local disks in GB, EBS volumes in GiB.
    """
    return instance_type.local_nvme_gb or GPU_ROOT_VOLUME_GIB * 2**30 // 10**9


def disk_gib(instance_type: InstanceType) -> int:
    """Return the size of the same disk in GiB; it holds the files of pods too."""
    return (instance_type.local_nvme_gb or 0) * 10**9 // 2**30 or GPU_ROOT_VOLUME_GIB


def disk_gib_for_pods(instance_type: InstanceType) -> int:
    """Return the part of the disk that pods can request together, in GiB."""
    return int(disk_gib(instance_type) * _DISK_FRACTION) - _DISK_RESERVED_GIB


def gpu_toleration() -> dict[str, str]:
    """Return the toleration that a pod on a GPU node needs."""
    return {"key": GPU_TAINT_KEY, "operator": "Exists", "effect": "NoSchedule"}


def efa_hugepages() -> int:
    """Return the number of 2 MiB pages that a node with EFA reserves for its workers."""
    return EFA_HUGEPAGES_MIB // _HUGEPAGE_MIB


def node_devices(instance: InstanceType, *, efa: bool) -> dict[str, str]:
    """Return the devices and huge pages of a node, as Kubernetes quantities."""
    devices = {GPU_RESOURCE: str(instance.gpus)}
    if efa:
        devices[EFA_RESOURCE] = str(instance.efa_interfaces)
        devices[HUGEPAGES_RESOURCE] = f"{EFA_HUGEPAGES_MIB}Mi"
    return devices


def node_resources(instance: InstanceType, *, efa: bool) -> dict[str, str]:
    """Return the resources that pods can request of a node beside CPU and memory, as Kubernetes quantities."""
    return node_devices(instance, efa=efa) | {DISK_RESOURCE: f"{disk_gib_for_pods(instance)}Gi"}


def vcpus_left_to_daemons(instance: InstanceType) -> int:
    """Return the vCPUs of a node that workers must not request."""
    return _DAEMON_VCPUS_OF_A_SMALL_NODE if instance.vcpus <= _SMALL_NODE_VCPUS else _DAEMON_VCPUS


#: Set by the kubelet on every node: the narrowest place.
HOSTNAME_LABEL = "kubernetes.io/hostname"

# EKS sets them, the widest layer first. "Place distributed AI/ML workloads with network topology labels":
# https://docs.aws.amazon.com/eks/latest/userguide/ml-workload-topology.html (read 2026-11-23)
_LAYER = "topology.k8s.aws/network-node-layer-{}"

# Types that EC2 reports the network nodes of, and how many; all sizes of the families. Other types have no label.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-topology-prerequisites.html (read 2026-11-23)
_FAMILIES = {"g6e": 3, "g7e": 3, "p3dn": 3, "p4d": 3, "p4de": 3, "p5e": 3, "p5en": 3, "p6-b200": 4, "p6-b300": 4}
_TYPES = {"p5.48xlarge": 3}


def network_labels(instance_type: str) -> tuple[str, ...]:
    """Return the labels of a node's place in the network, the widest first; none where EC2 does not report it."""
    layers = _TYPES.get(instance_type) or _FAMILIES.get(instance_type.partition(".")[0], 0)
    return tuple(_LAYER.format(layer) for layer in range(1, layers + 1))
