"""What the rules of `lint.rules.pod_placement_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, WITHOUT_EFA, both, instance_type

ZONE = "topology.kubernetes.io/zone"
TYPE = "node.kubernetes.io/instance-type"
ON_ONE = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
}
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
RANKS_IN_LAUNCHER = {
    "spec runLauncherAsWorker": True,
    "LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}},
}

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "launcher-on-gpu-node": [
        (
            {"LAUNCHER-POD nodeSelector": {TYPE: "g5.xlarge"}},
            "LAUNCHER-POD nodeSelector node.kubernetes.io/instance-type",
            "is g5.xlarge, a node with GPUs for the Launcher alone, which holds no ranks; select nodes without GPUs "
            "for it",
        ),
        # The worker leaves it no room.
        (
            {
                "LAUNCHER-POD nodeSelector": {TYPE: "p4d.24xlarge"},
                "LAUNCHER-CONTAINER resources": {"requests": {"cpu": 8}},
            },
            "LAUNCHER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p4d.24xlarge, a node with GPUs for the Launcher alone, which holds no ranks; select nodes without "
            "GPUs for it",
        ),
    ],
    "pods-across-zones": [
        (
            {"WORKER-POD topologySpreadConstraints": [SPREAD]},
            "WORKER-POD topologySpreadConstraints 0",
            "spreads the pods over zones, which EFA's data does not cross; remove it, and select one zone with "
            "nodeSelector",
        ),
        (
            {
                "WORKER-POD affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ZONE}]}
                }
            },
            "WORKER-POD affinity podAntiAffinity requiredDuringSchedulingIgnoredDuringExecution 0",
            "spreads the pods over zones, which EFA's data does not cross; remove it, and select one zone with "
            "nodeSelector",
        ),
        (
            {
                **RANKS_IN_LAUNCHER,
                "LAUNCHER-POD nodeSelector": {ZONE: "us-east-1a"},
                "WORKER-POD nodeSelector": {ZONE: "us-east-1b"},
            },
            "WORKER-POD nodeSelector topology.kubernetes.io/zone",
            "is us-east-1b, but other ranks run in us-east-1a, and EFA's data does not cross zones; write "
            "us-east-1a for all of them",
        ),
    ],
    "different-node-types": [
        (
            {**RANKS_IN_LAUNCHER, "LAUNCHER-POD nodeSelector": {TYPE: "p4de.24xlarge"}},
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p4d.24xlarge, but other ranks run on p4de.24xlarge; write one type for all ranks",
        ),
    ],
    "sagemaker-type": [
        (
            {**instance_type("ml.p4d.24xlarge"), "LAUNCHER-POD nodeSelector": {TYPE: "m5.xlarge"}},
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is ml.p4d.24xlarge, as SageMaker HyperPod calls its nodes, beside types of EC2; write p4d.24xlarge",
        ),
        (
            {"WORKER-POD nodeSelector": {TYPE: "ml.p4d.24xlarge", "karpenter.sh/nodepool": "gpu"}},
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is ml.p4d.24xlarge, as SageMaker HyperPod calls its nodes, beside the label karpenter.sh/nodepool; "
            "write p4d.24xlarge",
        ),
    ],
    "eviction-annotation": [
        (
            {"WORKER template metadata": {"annotations": {"karpenter.sh/do-not-evict": "true"}}},
            "WORKER template metadata annotations karpenter.sh/do-not-evict",
            "is not read by Karpenter since v1: it may remove the node while the job runs; write "
            'karpenter.sh/do-not-disrupt: "true"',
        ),
        (
            {"metadata annotations": {"karpenter.sh/do-not-disrupt": "true"}},
            "metadata annotations karpenter.sh/do-not-disrupt",
            "is an annotation of the job, which its pods do not get; write it into the pods' templates",
        ),
    ],
    "pods-on-one-node": [
        (
            {"WORKER-POD affinity": ON_ONE},
            "WORKER-POD affinity podAffinity requiredDuringSchedulingIgnoredDuringExecution 0",
            "puts all pods on one node, but 2 pods with 8 GPUs do not fit on one; remove it",
        ),
        (
            {"WORKER-POD nodeName": "ip-10-0-0-1.ec2.internal"},
            "WORKER-POD nodeName",
            "names the node of all pods, but 2 pods with 8 GPUs do not fit on one; remove it",
        ),
        (
            {"WORKER-POD nodeSelector": {"kubernetes.io/hostname": "ip-10-0-0-1"}, "WORKER replicas": 3},
            "WORKER-POD nodeSelector kubernetes.io/hostname",
            "selects one node for all pods, but 3 pods with 8 GPUs do not fit on one; remove it",
        ),
    ],
    "launcher-holds-efa": [
        (
            {"LAUNCHER-CONTAINER resources": {"limits": {"vpc.amazonaws.com/efa": 1}}},
            "LAUNCHER-CONTAINER resources limits vpc.amazonaws.com/efa",
            "the Launcher holds no ranks, and nothing uses its EFA devices; remove them from its requests and limits",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "launcher-on-gpu-node": [
        {**RANKS_IN_LAUNCHER, "LAUNCHER-POD nodeSelector": {TYPE: "p4d.24xlarge"}},
        {"LAUNCHER-POD nodeSelector": {TYPE: "m5.xlarge"}},
        # It uses a GPU of the node itself.
        {
            "LAUNCHER-POD nodeSelector": {TYPE: "p4d.24xlarge"},
            "LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 1}},
        },
    ],
    "pods-across-zones": [
        {"WORKER-POD topologySpreadConstraints": [{**SPREAD, "topologyKey": "kubernetes.io/hostname"}]},
        {**WITHOUT_EFA, "WORKER-POD topologySpreadConstraints": [SPREAD]},
        {"WORKER replicas": 1, "WORKER-POD topologySpreadConstraints": [SPREAD]},
        {"WORKER-POD topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]},
        {
            "LAUNCHER-POD nodeSelector": {ZONE: "us-east-1a"},
            "WORKER-POD nodeSelector": {ZONE: "us-east-1b"},
        },
    ],
    "different-node-types": [
        {**RANKS_IN_LAUNCHER, "LAUNCHER-POD nodeSelector": {TYPE: "p4d.24xlarge"}},
        {"LAUNCHER-POD nodeSelector": {TYPE: "m5.xlarge"}},
        # It runs beside a worker.
        {"LAUNCHER-POD nodeSelector": {TYPE: "p4d.24xlarge"}},
        # Where the workers run does not show.
        {"LAUNCHER-POD nodeSelector": {TYPE: "p4d.24xlarge"}, "WORKER-POD nodeSelector": GONE},
    ],
    "sagemaker-type": [
        {**instance_type("ml.p4d.24xlarge"), "LAUNCHER-POD nodeSelector": {TYPE: "ml.m5.xlarge"}},
        instance_type("ml.p4d.24xlarge"),
    ],
    "eviction-annotation": [
        {"WORKER template metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}},
        # It allows eviction.
        {"metadata annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}},
        {
            "metadata annotations": {"karpenter.sh/do-not-disrupt": "true"},
            "WORKER template metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}},
        },
    ],
    "pods-on-one-node": [
        {"WORKER-POD affinity": ON_ONE, "WORKER replicas": 1},
        {"WORKER-POD affinity": ON_ONE, **both("nvidia.com/gpu", 4), **both("vpc.amazonaws.com/efa", 2)},
        {"WORKER-POD affinity": {"podAntiAffinity": ON_ONE["podAffinity"]}},
    ],
    "launcher-holds-efa": [
        {
            "spec runLauncherAsWorker": True,
            "LAUNCHER-CONTAINER resources": {"limits": {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 4}},
        },
    ],
}
