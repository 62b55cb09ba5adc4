"""What the rules of `lint.rules.device_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import BIND, GONE, HOSTS, WITHOUT_EFA, both, launched, script, variables

AMOUNTS = "WORKER-CONTAINER resources"
HALF = {**both("nvidia.com/gpu", 4), **both("vpc.amazonaws.com/efa", 2), **both("cpu", 40), **both("memory", "400Gi")}
INFINIBAND = {"name": "ib", "hostPath": {"path": "/dev/infiniband"}}

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "devices-of-the-node": [
        (
            {**HALF, "WORKER-POD volumes 1": INFINIBAND},
            "WORKER-POD volumes 1 hostPath",
            "mounts /dev/infiniband of the node beside the device plugin, with the devices of other pods; remove "
            "it: a request for vpc.amazonaws.com/efa gives a container its own devices",
        ),
        (
            {**HALF, "WORKER-POD volumes 1": {"name": "gpu", "hostPath": {"path": "/dev/nvidia0"}}},
            "WORKER-POD volumes 1 hostPath",
            "mounts /dev/nvidia0 of the node beside the device plugin, with the devices of other pods; remove "
            "it: a request for nvidia.com/gpu gives a container its own devices",
        ),
    ],
    "misspelled-resource": [
        (
            {"WORKER-CONTAINER resources limits alpha.kubernetes.io/nvidia-gpu": 8},
            "WORKER-CONTAINER resources limits alpha.kubernetes.io/nvidia-gpu",
            "no node has a resource of this name, and the pod stays Pending; write nvidia.com/gpu",
        ),
        (
            {f"{AMOUNTS} limits nvidia.com/gpus": 8},
            "WORKER-CONTAINER resources limits nvidia.com/gpus",
            "no node has a resource of this name, and the pod stays Pending; write nvidia.com/gpu",
        ),
        (
            {f"{AMOUNTS} limits amazonaws.com/efa": 4},
            "WORKER-CONTAINER resources limits amazonaws.com/efa",
            "no node has a resource of this name, and the pod stays Pending; write vpc.amazonaws.com/efa",
        ),
        (
            {f"{AMOUNTS} limits vpc.amazonaws.com/efas": 4},
            "WORKER-CONTAINER resources limits vpc.amazonaws.com/efas",
            "no node has a resource of this name, and the pod stays Pending; write vpc.amazonaws.com/efa",
        ),
        (
            both("hugepages-2MiB", "5120Mi"),
            "WORKER-CONTAINER resources requests hugepages-2MiB",
            "no node has a resource of this name, and the pod stays Pending; write hugepages-2Mi",
        ),
        (
            {f"{AMOUNTS} limits nvidia/gpu": 8},
            "WORKER-CONTAINER resources limits nvidia/gpu",
            "no node has a resource of this name, and the pod stays Pending; write nvidia.com/gpu",
        ),
    ],
    "missing-gpus": [
        (
            both("nvidia.com/gpu", GONE),
            "WORKER-CONTAINER resources",
            "requests no nvidia.com/gpu, and the device plugin gives it no GPU, though p4d.24xlarge has some; add "
            "nvidia.com/gpu: 8 to its limits",
        ),
        (
            both("nvidia.com/gpu", 0),
            "WORKER-CONTAINER resources",
            "requests no nvidia.com/gpu, and the device plugin gives it no GPU, though p4d.24xlarge has some; add "
            "nvidia.com/gpu: 8 to its limits",
        ),
    ],
    "hidden-gpus": [
        (
            variables("WORKER", CUDA_VISIBLE_DEVICES="0"),
            "WORKER-CONTAINER env 0",
            "sets CUDA_VISIBLE_DEVICES=0 for all ranks, but a pod has 8 GPUs; remove it: the device plugin shows "
            "a pod its own GPUs only",
        ),
        (
            variables("WORKER", CUDA_VISIBLE_DEVICES=""),
            "WORKER-CONTAINER env 0",
            "sets CUDA_VISIBLE_DEVICES= for all ranks, but a pod has 8 GPUs; remove it: the device plugin shows "
            "a pod its own GPUs only",
        ),
        (
            launched("mpirun", "-x", "CUDA_VISIBLE_DEVICES=0,1,2,3", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "sets CUDA_VISIBLE_DEVICES=0,1,2,3 for all ranks, but a pod has 8 GPUs; remove it: the device plugin "
            "shows a pod its own GPUs only",
        ),
        (
            {
                **variables("LAUNCHER", CUDA_VISIBLE_DEVICES="0,1"),
                **launched("mpirun", "-x", "CUDA_VISIBLE_DEVICES", *HOSTS, *BIND, "train"),
            },
            "LAUNCHER-CONTAINER env 0",
            "sets CUDA_VISIBLE_DEVICES=0,1 for all ranks, but a pod has 8 GPUs; remove it: the device plugin "
            "shows a pod its own GPUs only",
        ),
        (
            {**both("nvidia.com/gpu", 1), **variables("WORKER", CUDA_VISIBLE_DEVICES="1")},
            "WORKER-CONTAINER env 0",
            "sets CUDA_VISIBLE_DEVICES=1 for all ranks, but a pod has 1 GPUs; remove it: the device plugin shows "
            "a pod its own GPUs only",
        ),
    ],
    "visible-devices-of-the-runtime": [
        (
            variables("WORKER", NVIDIA_VISIBLE_DEVICES="none"),
            "WORKER-CONTAINER env 0",
            "sets NVIDIA_VISIBLE_DEVICES=none, with which the container sees no GPU; remove it: the device "
            "plugin sets it to the pod's own GPUs",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "devices-of-the-node": [
        {**WITHOUT_EFA, "WORKER-POD volumes 1": INFINIBAND},
        # All devices of the node are its own.
        {"WORKER-POD volumes 1": INFINIBAND},
        {**HALF, "WORKER-POD volumes 1": INFINIBAND, "WORKER-POD nodeSelector": GONE},
        {"WORKER-POD volumes 1": {"name": "disk", "hostPath": {"path": "/mnt/k8s-disks/0"}}},
    ],
    "misspelled-resource": [
        {f"{AMOUNTS} limits": {"nvidia.com/mig-1g.5gb": 1, "nvidia.com/gpu.shared": 1, "ephemeral-storage": "1Gi"}},
        {
            f"{AMOUNTS} limits": {
                "rdma/hca": 1,
                "aws.amazon.com/neuron": 1,
                "hugepages-1Gi": "1Gi",
                "example.com/gpu": 1,
            }
        },
        {f"{AMOUNTS} limits": {"vpc.amazonaws.com/pod-eni": 1, "gpu": 8, "$GPU": 8}},
    ],
    "missing-gpus": [
        {},
        {**both("nvidia.com/gpu", GONE), "WORKER-POD nodeSelector": GONE},
        {**both("nvidia.com/gpu", GONE), "WORKER-POD resourceClaims": [{"name": "gpu"}]},
        {**both("nvidia.com/gpu", GONE), **both("nvidia.com/mig-1g.5gb", 1)},
        # A part of a GPU, which the scheduler gives.
        {
            **both("nvidia.com/gpu", GONE),
            "WORKER template metadata": {"annotations": {"gpu-fraction": "0.5"}},
        },
        {**both("nvidia.com/gpu", GONE), "WORKER-POD runtimeClassName": "nvidia"},
        # A misspelled name is reported by itself.
        {**both("nvidia.com/gpu", GONE), **both("nvidia.com/gpus", 8)},
        {**both("nvidia.com/gpu", GONE), **variables("WORKER", NVIDIA_VISIBLE_DEVICES="all")},
    ],
    "hidden-gpus": [
        variables("WORKER", CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7"),
        {**both("nvidia.com/gpu", 1), **variables("WORKER", CUDA_VISIBLE_DEVICES="0")},
        # The launcher's own, which no rank gets.
        variables("LAUNCHER", CUDA_VISIBLE_DEVICES=""),
        variables("WORKER", CUDA_VISIBLE_DEVICES="$LOCAL_RANK"),
        variables("WORKER", CUDA_VISIBLE_DEVICES="GPU-0123"),
        # For one command of a script.
        script("CUDA_VISIBLE_DEVICES=0 python download.py\nmpirun --hostfile /etc/mpi/hostfile train"),
    ],
    "visible-devices-of-the-runtime": [
        variables("WORKER", NVIDIA_VISIBLE_DEVICES="all"),
        # The runtime's settings may ignore it.
        {**both("nvidia.com/gpu", 1), **variables("WORKER", NVIDIA_VISIBLE_DEVICES="all")},
        {**both("nvidia.com/gpu", GONE), **variables("WORKER", NVIDIA_VISIBLE_DEVICES="none")},
        variables("LAUNCHER", NVIDIA_VISIBLE_DEVICES="none"),
    ],
}
