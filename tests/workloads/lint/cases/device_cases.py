"""What the rules of `lint.rules.device_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import (
    ELASTIC,
    GONE,
    HOSTS,
    both,
    launched,
    ranks,
)

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "whole-devices": [
        (
            both("nvidia.com/gpu", 0.5),
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "is 0.5, and the pod is rejected; give a whole number",
            "WORKER-CONTAINER resources limits nvidia.com/gpu",
            "is 0.5, and the pod is rejected; give a whole number",
        ),
        (
            {"WORKER-CONTAINER resources limits vpc.amazonaws.com/efa": "1500m"},
            "WORKER-CONTAINER resources limits vpc.amazonaws.com/efa",
            "is 1500m, and the pod is rejected; give a whole number",
        ),
    ],
    "device-limits": [
        (
            {"WORKER-CONTAINER resources limits nvidia.com/gpu": 4},
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "is 8 but has the limit 4, and the pod is rejected; write the same under limits: nvidia.com/gpu: 8",
        ),
        (
            {"WORKER-CONTAINER resources limits vpc.amazonaws.com/efa": GONE},
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "is 4 but has no limit, and the pod is rejected; write the same under limits: vpc.amazonaws.com/efa: 4",
        ),
        (
            {"WORKER-CONTAINER resources limits hugepages-2Mi": "1Gi"},
            "WORKER-CONTAINER resources requests hugepages-2Mi",
            "is 5120Mi but has the limit 1Gi, and the pod is rejected; write the same under limits: "
            "hugepages-2Mi: 5120Mi",
        ),
    ],
    "hugepages-alone": [
        (
            {**both("cpu", GONE), **both("memory", GONE)},
            "WORKER-CONTAINER resources",
            "requests huge pages without cpu or memory, and the pod is rejected; add memory to its requests and limits",
        ),
    ],
    "launcher-holds-gpus": [
        (
            {"LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 1}}},
            "LAUNCHER-CONTAINER resources limits nvidia.com/gpu",
            "the launcher requests nvidia.com/gpu: 1, which nothing can use there; remove them, or set "
            "spec.runLauncherAsWorker: true so that ranks run there",
        ),
    ],
    "slots-differ-from-gpus": [
        (
            {"spec slotsPerWorker": 4, **ranks(8)},
            "spec slotsPerWorker",
            "is 4, but each worker has 8 GPUs; write slotsPerWorker: 8, one rank for each GPU",
        ),
        (
            {"spec slotsPerWorker": GONE, **ranks(2)},
            "spec slotsPerWorker",
            "is missing, and its default is 1, but each worker has 8 GPUs; write slotsPerWorker: 8, one rank "
            "for each GPU",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "whole-devices": [
        {},
        both("nvidia.com/gpu", "8000m"),
        both("nvidia.com/gpu", "$N"),
        both("cpu", 0.5),
    ],
    "device-limits": [
        both("nvidia.com/gpu", 0.5),
        {"WORKER-CONTAINER resources requests nvidia.com/gpu": 0.5},
        {"WORKER-CONTAINER resources requests": GONE},
        {"WORKER-CONTAINER resources limits cpu": GONE, "WORKER-CONTAINER resources limits memory": "950Gi"},
        {"WORKER-CONTAINER resources requests hugepages-2Mi": "5Gi"},
    ],
    "hugepages-alone": [
        both("cpu", GONE),
        {
            "WORKER-CONTAINER resources requests cpu": GONE,
            "WORKER-CONTAINER resources requests memory": GONE,
            "WORKER-CONTAINER resources limits cpu": GONE,
        },
    ],
    "launcher-holds-gpus": [
        {"LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8}}, "spec runLauncherAsWorker": True},
        {"LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 1}}, "WORKER": GONE},
    ],
    "slots-differ-from-gpus": [
        # One process uses all GPUs of its node.
        {"spec slotsPerWorker": 1, **launched("mpirun", "-np", "2", *HOSTS, "all_reduce_perf", "-g", "8")},
        {"spec slotsPerWorker": 1, **launched("/start")},
        # A server that uses all GPUs of its node; meant, because it is written down twice.
        {"spec slotsPerWorker": 1, **ranks(2)},
        # The discovery script prints no slots.
        {"spec slotsPerWorker": 1, **launched(*ELASTIC)},
        # No rank takes the other slots.
        {"spec slotsPerWorker": 96, **ranks(16, "-N", "8")},
        # The mistakes of other rules.
        {"WORKER-CONTAINER resources requests nvidia.com/gpu": 4},
        both("nvidia.com/gpu", 16),
        {"spec slotsPerWorker": 2, **both("nvidia.com/gpu", GONE)},
        {"spec slotsPerWorker": "$N"},
        {"spec slotsPerWorker": 1, **both("nvidia.com/gpu", 0.5)},
        {"spec slotsPerWorker": 0},
        # Each rank starts a process for each GPU, or may do so.
        {"spec slotsPerWorker": 1, **launched("mpirun", "-np", "2", *HOSTS, "torchrun", "--nproc-per-node=8", "a.py")},
        {"spec slotsPerWorker": 1, **launched("mpirun", "-np", "2", *HOSTS, "bash", "train.sh")},
    ],
}
