"""The user data of a GPU node: its disks, its kubelet, its huge pages and its GPUs' clocks.

Two MIME parts: a NodeConfig for nodeadm, which EKS completes with the cluster's own data, and a script that runs before
the kubelet starts (https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-user-data,
https://awslabs.github.io/amazon-eks-ami/nodeadm/).
"""

from typing import Any

import yaml
from aws_cdk import aws_ec2 as ec2

from training_workloads import InstanceType
from training_workloads.catalog.nodes import JUMBO_FRAME_BYTES, efa_hugepages, vcpus_left_to_daemons

__all__ = ["node_user_data"]

# More than any node has, in bytes: the runtime's specification has no word for "unlimited".
_UNLIMITED = 2**42

_NODE_CONFIG_TYPE = "application/node.eks.aws"
_SCRIPT_TYPE = 'text/x-shellscript; charset="us-ascii"'

# A setting that fails is logged and the node joins all the same: a slow node shows in the log and in the metrics,
# a node that never joins costs money and is not visible.
_SCRIPT_HEAD = """#!/bin/bash
log() { logger --stderr --tag training-node "$*"; }
apply() { "$@" || log "error: this failed: $*"; }
"""


def node_user_data(instance: InstanceType, *, efa: bool, fast_image_pull: bool = False) -> str:
    """Return the user data for the launch template of a managed node group.

    The library of EFA uses huge pages. A fast pull downloads and unpacks images in parallel.
    """
    config = node_config(instance, efa=efa, fast_image_pull=fast_image_pull)
    data = ec2.MultipartUserData()
    for content_type, body in (
        (_NODE_CONFIG_TYPE, yaml.safe_dump(config, sort_keys=False)),
        (_SCRIPT_TYPE, node_script(instance, efa=efa)),
    ):
        data.add_part(ec2.MultipartBody.from_raw_body(content_type=content_type, body=body))
    return data.render()


def node_config(instance: InstanceType, *, efa: bool, fast_image_pull: bool = False) -> dict[str, Any]:
    """Return the NodeConfig: nodeadm's settings of disks, kubelet and containers."""
    kubelet = {
        # Ranks keep their cores; else the kernel moves them among all of the node's.
        "cpuManagerPolicy": "static",
        # The static policy needs cores that no pod gets. EKS reserves a fraction of one, which counts as one;
        # with this there are two on a large node, where the daemons of eight GPUs are busier.
        "systemReserved": {"cpu": f"{250 * vcpus_left_to_daemons(instance)}m"},
        # GPUs, EFA devices and cores of one NUMA node together where that is possible; the stricter policies would
        # reject a worker that needs the whole node.
        "topologyManagerPolicy": "best-effort",
    }
    spec: dict[str, Any] = {"kubelet": {"config": kubelet}}
    if fast_image_pull:
        # The AMI's SOCI snapshotter in its parallel mode, experimental
        # (https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/#enabling-fast-image-pull-experimental).
        spec["featureGates"] = {"FastImagePull": True}
    if instance.local_nvme_gb:
        # One array for images, logs and emptyDir volumes, at /mnt/k8s-disks/0.
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if efa:
        # EFA pins the memory that it sends from, gigabytes of it, and a container without root cannot raise the
        # limit (https://awslabs.github.io/amazon-eks-ami/nodeadm/doc/examples/#modifying-container-rlimits). The list
        # replaces the AMI's, so it has the limit of open files too.
        limits = [_rlimit("RLIMIT_NOFILE", 65536, 1048576), _rlimit("RLIMIT_MEMLOCK", _UNLIMITED, _UNLIMITED)]
        spec["containerd"] = {"baseRuntimeSpec": {"process": {"rlimits": limits}}}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def _rlimit(kind: str, soft: int, hard: int) -> dict[str, str | int]:
    return {"type": kind, "soft": soft, "hard": hard}


def node_script(instance: InstanceType, *, efa: bool) -> str:
    """Return the script that runs before the kubelet, which counts the huge pages when it starts."""
    lines = []
    if efa:
        lines += [
            f"echo vm.nr_hugepages={efa_hugepages()} >/etc/sysctl.d/90-efa-hugepages.conf",
            "apply sysctl --quiet --load=/etc/sysctl.d/90-efa-hugepages.conf",
        ]
    lines.append("apply nvidia-smi --persistence-mode=1")
    if instance.gpu and instance.gpu.application_clocks:
        clocks = instance.gpu.application_clocks
        lines.append(f"apply nvidia-smi --applications-clocks={clocks.memory_mhz},{clocks.graphics_mhz}")
    lines += [
        "interface=$(ip -oneline route show default | awk '{print $5; exit}')",
        'mtu=$(cat "/sys/class/net/$interface/mtu")',
        f'[ "$mtu" -ge {JUMBO_FRAME_BYTES} ] || log "error: $interface has an MTU of $mtu, not {JUMBO_FRAME_BYTES}"',
    ]
    return _SCRIPT_HEAD + "\n".join(lines) + "\n"
