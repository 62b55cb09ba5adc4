"""What the rules of `lint.rules.device_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import (
    GONE,
    HOSTS,
    WITHOUT_EFA,
    WITHOUT_PROVIDER,
    both,
    instance_type,
    launched,
    ranks,
)

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "quantity": [
        (
            {"WORKER-CONTAINER resources limits nvidia.com/gpu": "8GPUs"},
            "WORKER-CONTAINER resources limits nvidia.com/gpu",
            "is '8GPUs', which is not an amount; give a number, or one such as 5120Mi",
        ),
        (
            {"WORKER-CONTAINER resources requests memory": "32 Gi"},
            "WORKER-CONTAINER resources requests memory",
            "is '32 Gi', which is not an amount; give a number, or one such as 5120Mi",
        ),
    ],
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
    "devices-exceed-node": [
        (
            both("nvidia.com/gpu", 16),
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "the Worker requests 16, but p4d.24xlarge has 8, and the pod stays Pending unless a plugin divides "
            "them; request 8 or fewer, or choose another type",
        ),
        (
            {
                **both("nvidia.com/gpu", 16),
                "WORKER-POD nodeSelector": {"beta.kubernetes.io/instance-type": "p4d.24xlarge"},
            },
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "the Worker requests 16, but p4d.24xlarge has 8, and the pod stays Pending unless a plugin divides "
            "them; request 8 or fewer, or choose another type",
        ),
        (
            both("vpc.amazonaws.com/efa", 32),
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "the Worker requests 32, but p4d.24xlarge has 4, and the pod stays Pending unless a plugin divides "
            "them; request 4 or fewer, or choose another type",
        ),
        (
            instance_type("p3.16xlarge"),
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "the Worker requests 4, but p3.16xlarge has 0, and the pod stays Pending unless a plugin divides them; "
            "remove it, or choose another type",
        ),
        (
            {
                "WORKER-POD nodeSelector": GONE,
                "WORKER-POD affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {
                                            "key": "node.kubernetes.io/instance-type",
                                            "operator": "In",
                                            "values": ["p3.2xlarge", "p3.8xlarge"],
                                        }
                                    ]
                                }
                            ]
                        }
                    }
                },
                **WITHOUT_EFA,
            },
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "the Worker requests 8, but p3.2xlarge, p3.8xlarge has 4, and the pod stays Pending unless a plugin "
            "divides them; request 4 or fewer, or choose another type",
        ),
    ],
    "amounts-exceed-node": [
        (
            both("memory", "2000Gi"),
            "WORKER-CONTAINER resources requests memory",
            "the Worker requests 2000 GiB, but p4d.24xlarge has 1152, and the pod stays Pending; request less than "
            "1152 GiB, or choose another type",
        ),
        (
            both("cpu", "96500m"),
            "WORKER-CONTAINER resources requests cpu",
            "the Worker requests 96.5 CPUs, but p4d.24xlarge has 96, and the pod stays Pending; request less than "
            "96 CPUs, or choose another type",
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
    "efa-left-unused": [
        (
            {**WITHOUT_EFA, **WITHOUT_PROVIDER},
            "WORKER-CONTAINER resources",
            "requests no vpc.amazonaws.com/efa, though p4d.24xlarge has EFA: the ranks exchange data over TCP; "
            "add vpc.amazonaws.com/efa: 4 to requests and limits where the nodes have EFA interfaces",
        ),
    ],
    "efa-without-hugepages": [
        (
            both("hugepages-2Mi", GONE),
            "WORKER-CONTAINER resources",
            "requests EFA devices but no hugepages-2Mi, from which libfabric takes its buffers; add "
            "hugepages-2Mi: 5120Mi to requests and limits, or set FI_EFA_USE_HUGE_PAGE=0",
        ),
    ],
    "efa-memory": [
        (
            both("memory", "8Gi"),
            "WORKER-CONTAINER resources limits memory",
            "is 8Gi; NCCL with EFA runs out of it, which looks like a network error; give 32000Mi or more",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "quantity": [
        {"WORKER-CONTAINER resources limits memory": "1e12"},
        {"WORKER-CONTAINER resources limits nvidia.com/gpu": "${GPUS}"},
    ],
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
    "devices-exceed-node": [
        {},
        {**both("nvidia.com/gpu", 16), "WORKER-POD nodeSelector": GONE},
        {**both("nvidia.com/gpu", 16), **instance_type("p9.99xlarge")},
        both("nvidia.com/gpu", "$N"),
    ],
    "amounts-exceed-node": [
        {},
        {**both("memory", "2000Gi"), "WORKER-POD nodeSelector": GONE},
        {**both("memory", "2000Gi"), **instance_type("p5.48xlarge")},
        # Limits may be more than a node has.
        {"WORKER-CONTAINER resources limits cpu": 200},
        both("memory", "$M"),
    ],
    "launcher-holds-gpus": [
        {"LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8}}, "spec runLauncherAsWorker": True},
    ],
    "slots-differ-from-gpus": [
        {"spec slotsPerWorker": 2, **both("nvidia.com/gpu", GONE)},
        {"spec slotsPerWorker": "$N"},
        {"spec slotsPerWorker": 1, **both("nvidia.com/gpu", 0.5)},
        {"spec slotsPerWorker": 0},
        # Each rank starts a process for each GPU, or may do so.
        {"spec slotsPerWorker": 1, **launched("mpirun", "-np", "2", *HOSTS, "torchrun", "--nproc-per-node=8", "a.py")},
        {"spec slotsPerWorker": 1, **launched("mpirun", "-np", "2", *HOSTS, "bash", "train.sh")},
    ],
    "efa-left-unused": [
        {**WITHOUT_EFA, "LAUNCHER-CONTAINER env": [{"name": "NCCL_NET", "value": "Socket"}]},
        {**WITHOUT_EFA, "WORKER-POD resourceClaims": [{"name": "efa", "resourceClaimTemplateName": "efa"}]},
        {**WITHOUT_EFA, **WITHOUT_PROVIDER, "WORKER replicas": 1},
        {**WITHOUT_EFA, **WITHOUT_PROVIDER, **both("nvidia.com/gpu", 1)},
        {**WITHOUT_EFA, **instance_type("p3.16xlarge")},
        {**WITHOUT_EFA, "WORKER-POD nodeSelector": GONE},
    ],
    "efa-without-hugepages": [
        {**both("hugepages-2Mi", GONE), "LAUNCHER-CONTAINER env": [{"name": "FI_EFA_USE_HUGE_PAGE", "value": "0"}]},
        {**both("hugepages-2Mi", GONE), **launched("mpirun", "-x", "FI_EFA_USE_HUGE_PAGE=0", *HOSTS, "train")},
        {**WITHOUT_EFA},
    ],
    "efa-memory": [
        both("memory", "32000Mi"),
        {**both("memory", "8Gi"), **WITHOUT_EFA},
        both("memory", GONE),
    ],
}
