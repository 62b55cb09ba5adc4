"""What the rules of `lint.rules.efa_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import (
    BIND,
    GONE,
    HOSTS,
    WITHOUT_EFA,
    WITHOUT_PROVIDER,
    both,
    instance_type,
    launched,
    variables,
)

#: EFA by NCCL's variable only.
NET = {**WITHOUT_PROVIDER, **variables("LAUNCHER", NCCL_NET="AWS Libfabric")}

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "efa-not-requested": [
        (
            WITHOUT_EFA,
            "LAUNCHER-CONTAINER env 0",
            "sets FI_PROVIDER=efa, but the pods of the ranks request no vpc.amazonaws.com/efa; add "
            "vpc.amazonaws.com/efa to their requests and limits, or remove FI_PROVIDER",
        ),
        (
            {
                **WITHOUT_EFA,
                **launched("mpirun", "-x", "FI_PROVIDER=efa", *HOSTS, "train"),
                "LAUNCHER-CONTAINER env": GONE,
            },
            "LAUNCHER-CONTAINER command",
            "sets FI_PROVIDER=efa, but the pods of the ranks request no vpc.amazonaws.com/efa; add "
            "vpc.amazonaws.com/efa to their requests and limits, or remove FI_PROVIDER",
        ),
        (
            {**WITHOUT_EFA, **NET},
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_NET=AWS Libfabric, but the pods of the ranks request no vpc.amazonaws.com/efa; add "
            "vpc.amazonaws.com/efa to their requests and limits, or remove NCCL_NET",
        ),
        (
            {"spec runLauncherAsWorker": True, "LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8}}},
            "LAUNCHER-CONTAINER resources",
            "requests no vpc.amazonaws.com/efa, but FI_PROVIDER=efa is set; request it as the other pods of the "
            "job, or remove FI_PROVIDER",
        ),
    ],
    "efa-left-unused": [
        (
            {**WITHOUT_EFA, **WITHOUT_PROVIDER},
            "WORKER-CONTAINER resources",
            "requests no vpc.amazonaws.com/efa, though p4d.24xlarge has EFA: the ranks exchange data over TCP; "
            "add vpc.amazonaws.com/efa: 4 to requests and limits where the nodes have EFA interfaces",
        ),
        # A container beside the ranks that sleeps, and an argument of that name.
        (
            {
                **WITHOUT_EFA,
                "LAUNCHER-CONTAINER env": GONE,
                **launched("mpirun", "-np", "16", *HOSTS, *BIND, "train", "--on-error", "sleep"),
                "LAUNCHER-POD containers 1": {"name": "debug", "image": "image:1", "command": ["sleep", "infinity"]},
            },
            "WORKER-CONTAINER resources",
            "requests no vpc.amazonaws.com/efa, though p4d.24xlarge has EFA: the ranks exchange data over TCP; "
            "add vpc.amazonaws.com/efa: 4 to requests and limits where the nodes have EFA interfaces",
        ),
    ],
    "efa-devices": [
        (
            both("vpc.amazonaws.com/efa", 1),
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "is 1, but p4d.24xlarge has 4 EFA devices for 8 GPUs, and the others stay idle; write "
            "vpc.amazonaws.com/efa: 4 in requests and limits",
        ),
        (
            {**both("vpc.amazonaws.com/efa", 4), **instance_type("p5.48xlarge")},
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "is 4, but p5.48xlarge has 32 EFA devices for 8 GPUs, and the others stay idle; write "
            "vpc.amazonaws.com/efa: 32 in requests and limits",
        ),
        (
            {**both("vpc.amazonaws.com/efa", 1), **both("nvidia.com/gpu", 4)},
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "is 1, but p4d.24xlarge has 2 EFA devices for 4 GPUs, and the others stay idle; write "
            "vpc.amazonaws.com/efa: 2 in requests and limits",
        ),
    ],
    "hugepages-of-the-node": [
        (
            both("hugepages-2Mi", "51200Mi"),
            "WORKER-CONTAINER resources requests hugepages-2Mi",
            "is 51200Mi, but a node with EFA reserves 5128 pages, which are 10256Mi: the pod stays Pending; "
            "write hugepages-2Mi: 5120Mi",
        ),
        (
            {**both("hugepages-2Mi", GONE), **both("hugepages-1Gi", "5Gi")},
            "WORKER-CONTAINER resources requests hugepages-1Gi",
            "requests pages of 1 GiB, but a node with EFA reserves pages of 2 MiB: the pod stays Pending; "
            "write hugepages-2Mi: 5120Mi",
        ),
    ],
    "efa-memory": [
        (
            both("memory", "8Gi"),
            "WORKER-CONTAINER resources limits memory",
            "is 8Gi; NCCL with EFA runs out of it, which looks like a network error; give 32000Mi or more",
        ),
        (
            {**both("memory", "8Gi"), **both("nvidia.com/gpu", 4)},
            "WORKER-CONTAINER resources limits memory",
            "is 8Gi; NCCL with EFA runs out of it, which looks like a network error; give 16000Mi or more",
        ),
    ],
    "efa-turned-off": [
        (
            variables("LAUNCHER", FI_PROVIDER="tcp"),
            "LAUNCHER-CONTAINER env 0",
            "sets FI_PROVIDER=tcp, but the pods have EFA devices, and libfabric does not use them; write "
            "FI_PROVIDER=efa",
        ),
        (
            variables("LAUNCHER", FI_PROVIDER="eaf"),
            "LAUNCHER-CONTAINER env 0",
            "sets FI_PROVIDER=eaf, but the pods have EFA devices, and libfabric does not use them; write "
            "FI_PROVIDER=efa",
        ),
        (
            variables("LAUNCHER", FI_PROVIDER="^efa"),
            "LAUNCHER-CONTAINER env 0",
            "sets FI_PROVIDER=^efa, but the pods have EFA devices, and libfabric does not use them; write "
            "FI_PROVIDER=efa",
        ),
        (
            variables("LAUNCHER", NCCL_NET="Socket"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_NET=Socket, but the pods have EFA devices, and NCCL does not use them; write NCCL_NET=AWS "
            "Libfabric",
        ),
        (
            launched("mpirun", "-x", "NCCL_NET_PLUGIN=none", *HOSTS, *BIND, "train"),
            "LAUNCHER-CONTAINER command",
            "sets NCCL_NET_PLUGIN=none, but the pods have EFA devices, and NCCL loads no plugin for them; remove it",
        ),
    ],
    "nccl-net-name": [
        (
            variables("LAUNCHER", NCCL_NET="efa"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_NET=efa, but the EFA plugin is called AWS Libfabric; write NCCL_NET=AWS Libfabric, or remove it",
        ),
        (
            variables("LAUNCHER", NCCL_NET="aws-ofi-nccl"),
            "LAUNCHER-CONTAINER env 0",
            "sets NCCL_NET=aws-ofi-nccl, but the EFA plugin is called AWS Libfabric; write NCCL_NET=AWS "
            "Libfabric, or remove it",
        ),
    ],
    "fork-safe-variable": [
        (
            variables("WORKER", RDMAV_FORK_SAFE="1"),
            "WORKER-CONTAINER env 0",
            "sets RDMAV_FORK_SAFE=1, which can break EFA on newer kernels; remove it: those kernels fork safely "
            "without it",
        ),
        (
            launched("mpirun", "-x", "RDMAV_FORK_SAFE=1", *HOSTS, "train"),
            "LAUNCHER-CONTAINER command",
            "sets RDMAV_FORK_SAFE=1, which can break EFA on newer kernels; remove it: those kernels fork safely "
            "without it",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "efa-not-requested": [
        # Misspelt.
        {**both("vpc.amazonaws.com/efa", GONE), **both("vpc.aws.com/efa", 4)},
        {},
        NET,
        {"WORKER-POD resourceClaims": [{"name": "efa", "resourceClaimTemplateName": "efa"}], **WITHOUT_EFA},
        {**WITHOUT_EFA, **both("vpc.amazonaws.com/efa", "${EFA_PER_WORKER}")},
        {**WITHOUT_EFA, **variables("LAUNCHER", FI_PROVIDER="tcp")},
        {**WITHOUT_EFA, **variables("LAUNCHER", FI_PROVIDER="$PROVIDER")},
        {"WORKER-CONTAINER resources": GONE},
    ],
    "efa-left-unused": [
        # The mistake of misspelled-resource.
        {**WITHOUT_EFA, **WITHOUT_PROVIDER, **both("vpc.amazonaws.com/efas", 4)},
        {**WITHOUT_EFA, "LAUNCHER-CONTAINER env": [{"name": "NCCL_NET", "value": "Socket"}]},
        {**WITHOUT_EFA, "WORKER-POD resourceClaims": [{"name": "efa", "resourceClaimTemplateName": "efa"}]},
        {**WITHOUT_EFA, **WITHOUT_PROVIDER, "WORKER replicas": 1},
        {**WITHOUT_EFA, **WITHOUT_PROVIDER, **both("nvidia.com/gpu", 1)},
        # Its GPUs send through memory, with EFA as with TCP.
        {**WITHOUT_EFA, **WITHOUT_PROVIDER, **instance_type("g5.48xlarge")},
        {**WITHOUT_EFA, "WORKER-POD nodeSelector": GONE},
        {**WITHOUT_EFA, "LAUNCHER-CONTAINER env": GONE, **launched("mpirun", "-np", "16", *HOSTS, "nvidia-smi")},
        {**WITHOUT_EFA, "LAUNCHER-CONTAINER env": GONE, **launched("bash", "-c", "set -x; sleep infinity")},
    ],
    "efa-devices": [
        {},
        # One of several types, of which the smallest has 4.
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
                                        "values": ["p5.48xlarge", "p4d.24xlarge"],
                                    }
                                ]
                            }
                        ]
                    }
                }
            },
        },
        {**both("vpc.amazonaws.com/efa", 2), **both("nvidia.com/gpu", 4)},
        {**both("vpc.amazonaws.com/efa", 1), **instance_type("p3dn.24xlarge")},
        {**both("vpc.amazonaws.com/efa", 1), "WORKER-POD nodeSelector": GONE},
        {**both("vpc.amazonaws.com/efa", -1), "WORKER-POD nodeSelector": GONE},
        {**both("vpc.amazonaws.com/efa", 1), "WORKER replicas": 1},
        {**both("vpc.amazonaws.com/efa", 16), **instance_type("p5en.48xlarge")},
    ],
    "hugepages-of-the-node": [
        both("hugepages-2Mi", "10256Mi"),
        # libfabric does without.
        both("hugepages-2Mi", GONE),
        {**both("hugepages-2Mi", "51200Mi"), **both("vpc.amazonaws.com/efa", GONE)},
    ],
    "efa-memory": [
        both("memory", "32000Mi"),
        {**both("memory", "8Gi"), **WITHOUT_EFA},
        {**both("memory", "8Gi"), **both("nvidia.com/gpu", 1)},
        both("memory", GONE),
        both("memory", "$MEMORY"),
    ],
    "efa-turned-off": [
        variables("LAUNCHER", FI_PROVIDER="efa,tcp"),
        variables("LAUNCHER", FI_PROVIDER="^tcp"),
        variables("LAUNCHER", NCCL_NET="AWS Libfabric"),
        variables("LAUNCHER", NCCL_NET_PLUGIN="ofi"),
        {**WITHOUT_EFA, **variables("LAUNCHER", NCCL_NET="Socket")},
    ],
    "nccl-net-name": [
        variables("LAUNCHER", NCCL_NET="AWS Libfabric"),
        variables("LAUNCHER", NCCL_NET="Libfabric"),
        variables("LAUNCHER", NCCL_NET="ofi"),
        {**WITHOUT_EFA, **variables("LAUNCHER", NCCL_NET="UCX")},
    ],
    "fork-safe-variable": [
        launched("mpirun", "-x", "FI_EFA_FORK_SAFE=1", *HOSTS, "train"),
        {**WITHOUT_EFA, **variables("WORKER", RDMAV_FORK_SAFE="1")},
    ],
}
