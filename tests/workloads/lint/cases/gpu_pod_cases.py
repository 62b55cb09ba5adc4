"""What the rules of `lint.rules.gpu_pod_rules` and `lint.rules.shared_memory_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, HOSTS, WITHOUT_EFA, both, instance_type, launched

SHM = "WORKER-POD volumes 0 emptyDir"
TESTS = launched("mpirun", "-np", "16", *HOSTS, "all_reduce_perf")

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "memory-unit": [
        (
            {"WORKER-CONTAINER resources limits memory": "1600m"},
            "WORKER-CONTAINER resources limits memory",
            "is 1600m, which is 1.6 bytes; add the unit, such as Gi",
        ),
        (
            both("memory", "1600"),
            "WORKER-CONTAINER resources limits memory",
            "is 1600, which is 1600 bytes; add the unit, such as Gi",
        ),
        (
            {"LAUNCHER-CONTAINER resources": {"requests": {"memory": "4M"}}},
            "LAUNCHER-CONTAINER resources requests memory",
            "is 4M, which is 4000000 bytes; add the unit, such as Gi",
        ),
    ],
    "memory-of-gpus": [
        (
            {**WITHOUT_EFA, **both("memory", "4Gi")},
            "WORKER-CONTAINER resources limits memory",
            "is 4Gi for 8 GPUs, which is less than a process on a GPU takes; give several GiB for each GPU",
        ),
        # A script whose name looks like that of a test.
        (
            {**WITHOUT_EFA, **both("memory", "4Gi"), **launched("mpirun", *HOSTS, "python", "train_perf.py")},
            "WORKER-CONTAINER resources limits memory",
            "is 4Gi for 8 GPUs, which is less than a process on a GPU takes; give several GiB for each GPU",
        ),
    ],
    "cpus-of-gpus": [
        (
            {"WORKER-CONTAINER resources limits cpu": 1},
            "WORKER-CONTAINER resources limits cpu",
            "is 1 for 8 GPUs, and the GPUs wait for their input; give 90 or so",
        ),
        (
            {**both("cpu", 4), "WORKER-POD nodeSelector": GONE},
            "WORKER-CONTAINER resources limits cpu",
            "is 4 for 8 GPUs, and the GPUs wait for their input; give several CPUs for each GPU",
        ),
    ],
    "gpus-left-on-the-node": [
        (
            both("nvidia.com/gpu", 4),
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "is 4, but p4d.24xlarge has 8, and the pod takes its EFA devices; write 8, or request less of the rest",
        ),
        (
            {**both("nvidia.com/gpu", 2), **WITHOUT_EFA},
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "is 2, but p4d.24xlarge has 8, and the pod takes its CPUs; write 8, or request less of the rest",
        ),
        (
            {**both("nvidia.com/gpu", 1), **WITHOUT_EFA, **both("cpu", 8)},
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "is 1, but p4d.24xlarge has 8, and the pod takes its memory; write 8, or request less of the rest",
        ),
    ],
    "shared-memory-size": [
        (
            {f"{SHM} sizeLimit": "64Mi"},
            "WORKER-POD volumes 0 emptyDir sizeLimit",
            "is 64Mi, in which NCCL and the data loaders of 8 GPUs do not fit; give several GiB for each GPU",
        ),
        (
            {f"{SHM} sizeLimit": "200m"},
            "WORKER-POD volumes 0 emptyDir sizeLimit",
            "is 200m, in which NCCL and the data loaders of 8 GPUs do not fit; give several GiB for each GPU",
        ),
    ],
    "shared-memory-read-only": [
        (
            {"WORKER-CONTAINER volumeMounts 0 readOnly": True},
            "WORKER-CONTAINER volumeMounts 0 readOnly",
            "is true, but NCCL and data loaders write to /dev/shm; remove it",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "memory-unit": [
        {"LAUNCHER-CONTAINER resources": {"requests": {"memory": "64Mi"}}},
        both("memory", "$MEMORY"),
        both("memory", 0),
    ],
    "memory-of-gpus": [
        {**WITHOUT_EFA, **both("memory", "8Gi")},
        {**WITHOUT_EFA, **both("memory", "4Gi"), **TESTS},
        # Below the smallest, the unit is wrong, and with EFA `efa-memory` reports it.
        {**WITHOUT_EFA, **both("memory", "1600")},
        both("memory", "4Gi"),
    ],
    "cpus-of-gpus": [
        both("cpu", 12),
        # Enough for a program that reads little.
        {**both("cpu", 8), **instance_type("p5.48xlarge"), **both("vpc.amazonaws.com/efa", 32)},
        {"WORKER-CONTAINER resources limits cpu": GONE, "WORKER-CONTAINER resources requests cpu": "90m"},
        both("cpu", "$CPUS"),
        # One rank: the other GPUs do not wait for input.
        {
            **both("cpu", 4),
            "spec slotsPerWorker": 1,
            **launched("mpirun", *HOSTS, "-np", "2", "torchrun", "--nproc_per_node=1", "train.py"),
        },
    ],
    "gpus-left-on-the-node": [
        {},
        # Pods of other jobs may use the rest.
        {**both("nvidia.com/gpu", 4), "WORKER replicas": 1},
        {**both("nvidia.com/gpu", 4), **both("vpc.amazonaws.com/efa", 2), **both("cpu", 45), **both("memory", "450Gi")},
        {**both("nvidia.com/gpu", 5), **WITHOUT_EFA},
        {**both("nvidia.com/gpu", 4), "WORKER-POD nodeSelector": GONE},
        {**both("nvidia.com/gpu", 1), **both("cpu", 3), **WITHOUT_EFA, **instance_type("g5.xlarge")},
        # The cause is that request and limit differ.
        {"WORKER-CONTAINER resources requests nvidia.com/gpu": 4},
    ],
    "shared-memory-size": [
        {f"{SHM} sizeLimit": "8Gi"},
        {f"{SHM} sizeLimit": "$SIZE"},
        {SHM: {"sizeLimit": "64Mi"}},
        {f"{SHM} sizeLimit": "64Mi", **both("nvidia.com/gpu", GONE)},
    ],
    "shared-memory-read-only": [
        {"WORKER-CONTAINER volumeMounts 0 readOnly": False},
    ],
}
