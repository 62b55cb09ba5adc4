"""What the rules of `lint.rules.node_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, WITHOUT_EFA, both, instance_type

TYPE = "node.kubernetes.io/instance-type"


def required(key: str, *values: str) -> dict[str, Any]:
    """The worker requires one of some values of a label."""
    terms = [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return {"WORKER-POD nodeSelector": GONE, "WORKER-POD affinity": affinity}


RETIRED = (
    "AWS retired it on 2025-12-20 (https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685) and EC2 offers it "
    "in no region"
)
VALUES = (
    "WORKER-POD affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms 0 "
    "matchExpressions 0 values"
)

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
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
            {**instance_type("g5.xlarge"), **both("nvidia.com/gpu", 1)},
            "WORKER-CONTAINER resources requests vpc.amazonaws.com/efa",
            "the Worker requests 4, but g5.xlarge has 0, and the pod stays Pending unless a plugin divides them; "
            "remove it, or choose another type",
        ),
        (
            {**required(TYPE, "g5.xlarge", "g5.12xlarge"), **WITHOUT_EFA},
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "the Worker requests 8, but g5.xlarge, g5.12xlarge has 4, and the pod stays Pending unless a plugin "
            "divides them; request 4 or fewer, or choose another type",
        ),
        (
            instance_type("g5.xlarge"),
            "WORKER-CONTAINER resources requests nvidia.com/gpu",
            "the Worker requests 8, but g5.xlarge has 1, and the pod stays Pending unless a plugin divides them; "
            "request 1 or fewer, or choose another type",
        ),
    ],
    "amounts-exceed-node": [
        (
            both("memory", "2000Gi"),
            "WORKER-CONTAINER resources requests memory",
            "the Worker requests 2005 GiB, huge pages included, but p4d.24xlarge has 1152, of which pods get "
            "1133.6 at most: the pod stays Pending; request 1071 GiB or less, or choose another type",
        ),
        (
            both("memory", "1130Gi"),
            "WORKER-CONTAINER resources requests memory",
            "the Worker requests 1135 GiB, huge pages included, but p4d.24xlarge has 1152, of which pods get "
            "1133.6 at most: the pod stays Pending; request 1071 GiB or less, or choose another type",
        ),
        (
            both("ephemeral-storage", "8Ti"),
            "WORKER-CONTAINER resources requests ephemeral-storage",
            "the Worker requests 8192 GiB of disk but p4d.24xlarge has local disks of 7450, of which pods get 6636 at "
            "most: the pod stays Pending; request 6636 GiB of disk or less, or choose another type",
        ),
        (
            {
                **both("ephemeral-storage", "500Gi"),
                **both("cpu", 60),
                **both("memory", "400Gi"),
                **instance_type("p3.16xlarge"),
                **WITHOUT_EFA,
            },
            "WORKER-CONTAINER resources requests ephemeral-storage",
            "the Worker requests 500 GiB of disk but p3.16xlarge has a root volume of 200, of which pods get 177 at "
            "most: the pod stays Pending; request 177 GiB of disk or less, or choose another type",
        ),
        (
            both("cpu", "96500m"),
            "WORKER-CONTAINER resources requests cpu",
            "the Worker requests 96.5 CPUs but p4d.24xlarge has 96, of which pods get 95.7 at most: the pod "
            "stays Pending; request 92 CPUs or less, or choose another type",
        ),
        (
            both("cpu", 96),
            "WORKER-CONTAINER resources requests cpu",
            "the Worker requests 96 CPUs but p4d.24xlarge has 96, of which pods get 95.7 at most: the pod stays "
            "Pending; request 92 CPUs or less, or choose another type",
        ),
        (
            {
                "WORKER-POD initContainers": [
                    {"name": "stage", "image": "image:1", "resources": {"requests": {"cpu": 100}}}
                ]
            },
            "WORKER-CONTAINER resources requests cpu",
            "the Worker requests 100 CPUs but p4d.24xlarge has 96, of which pods get 95.7 at most: the pod stays "
            "Pending; request 92 CPUs or less, or choose another type",
        ),
        (
            {
                "LAUNCHER-POD nodeSelector": {TYPE: "m7i.xlarge"},
                "LAUNCHER-CONTAINER resources": {"requests": {"cpu": 16, "memory": "4Gi"}},
            },
            "LAUNCHER-CONTAINER resources requests cpu",
            "the Launcher requests 16 CPUs but m7i.xlarge has 4, of which pods get 3.9 at most: the pod stays "
            "Pending; request 3 CPUs or less, or choose another type",
        ),
    ],
    "instance-type-name": [
        (
            instance_type("P4d.24xlarge"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is P4d.24xlarge, which is no type of EC2: the pod stays Pending; write p4d.24xlarge",
        ),
        (
            instance_type("p4d.24xlrage"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p4d.24xlrage, which is no type of EC2: the pod stays Pending; write p4d.24xlarge",
        ),
        (
            # A type that AWS has retired is no correction.
            instance_type("p3.16xlrage"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p3.16xlrage, which is no type of EC2: the pod stays Pending; write a type of EC2",
        ),
        (
            instance_type("p4.24xlarge"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p4.24xlarge, which is no type of EC2: the pod stays Pending; write p4d.24xlarge",
        ),
        (
            instance_type("p5-48xlarge"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p5-48xlarge, which is no type of EC2: the pod stays Pending; write p5.48xlarge",
        ),
        (
            instance_type("g5.9xlarge"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is g5.9xlarge, which is no type of EC2: the pod stays Pending; write g5.xlarge",
        ),
        (
            instance_type("ml.p5.48xlage"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is ml.p5.48xlage, which is no type of EC2: the pod stays Pending; write ml.p5.48xlarge",
        ),
        (
            required(TYPE, "p4d.24xlarge", "p4e.24xlarge"),
            "WORKER-POD affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms 0 "
            "matchExpressions 0 values 1",
            "is p4e.24xlarge, which is no type of EC2: the pod stays Pending; write p4de.24xlarge",
        ),
        (
            {"LAUNCHER-POD nodeSelector": {TYPE: "m7i.xlage"}},
            "LAUNCHER-POD nodeSelector node.kubernetes.io/instance-type",
            "is m7i.xlage, which is no type of EC2: the pod stays Pending; write a type of EC2",
        ),
    ],
    "retired-instance-type": [
        (
            {**instance_type("p3.16xlarge"), **WITHOUT_EFA},
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            f"is p3.16xlarge, but {RETIRED}: the pod stays Pending; choose p3dn.24xlarge or p4d.24xlarge",
        ),
        (
            {**required(TYPE, "p3.8xlarge", "p3.16xlarge"), **WITHOUT_EFA},
            f"{VALUES} 0",
            f"is p3.8xlarge, but {RETIRED}: the pod stays Pending; choose p3dn.24xlarge or p4d.24xlarge",
            f"{VALUES} 1",
            f"is p3.16xlarge, but {RETIRED}: the pod stays Pending; choose p3dn.24xlarge or p4d.24xlarge",
        ),
        (
            instance_type("p2.16xlarge"),
            "WORKER-POD nodeSelector node.kubernetes.io/instance-type",
            "is p2.16xlarge, but AWS has retired it (https://github.com/eksctl-io/eksctl/pull/7826) and EC2 offers it "
            "in no region: the pod stays Pending; choose another type",
        ),
    ],
    "node-label-key": [
        (
            {"WORKER-POD nodeSelector": {"node.kubernetes.io/instancetype": "p4d.24xlarge"}},
            "WORKER-POD nodeSelector node.kubernetes.io/instancetype",
            "selects nodes by node.kubernetes.io/instancetype, a label that they do not have; write "
            "node.kubernetes.io/instance-type",
        ),
        (
            {"WORKER-POD nodeSelector": {"instance-type": "p4d.24xlarge"}},
            "WORKER-POD nodeSelector instance-type",
            "selects nodes by instance-type, a label that they do not have; write node.kubernetes.io/instance-type",
        ),
        (
            {"WORKER-POD nodeSelector": {"kubernetes.io/instance-type": "p4d.24xlarge"}},
            "WORKER-POD nodeSelector kubernetes.io/instance-type",
            "selects nodes by kubernetes.io/instance-type, a label that they do not have; write "
            "node.kubernetes.io/instance-type",
        ),
        (
            required("topology.kubernetes.io/zones", "us-east-1a"),
            "WORKER-POD affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms 0 "
            "matchExpressions 0",
            "selects nodes by topology.kubernetes.io/zones, a label that they do not have; write "
            "topology.kubernetes.io/zone",
        ),
    ],
    "node-label-value": [
        (
            {"WORKER-POD nodeSelector": {"karpenter.sh/capacity-type": "on_demand"}},
            "WORKER-POD nodeSelector karpenter.sh/capacity-type",
            "is on_demand, a value that no node has; write on-demand or spot or reserved",
        ),
        (
            {"WORKER-POD nodeSelector": {"eks.amazonaws.com/capacityType": "spot"}},
            "WORKER-POD nodeSelector eks.amazonaws.com/capacityType",
            "is spot, a value that no node has; write ON_DEMAND or SPOT or CAPACITY_BLOCK",
        ),
        (
            {"WORKER-POD nodeSelector": {"topology.kubernetes.io/zone": "us-east-1"}},
            "WORKER-POD nodeSelector topology.kubernetes.io/zone",
            "is us-east-1, which is a region; write a zone, such as us-east-1a",
        ),
        (
            {"WORKER-POD nodeSelector": {"karpenter.k8s.aws/instance-family": "p5d"}},
            "WORKER-POD nodeSelector karpenter.k8s.aws/instance-family",
            "is p5d, a family that EC2 does not have; write p5 or p5e",
        ),
        (
            {"WORKER-POD nodeSelector": {"eks.amazonaws.com/instance-family": "p4d.24xlarge"}},
            "WORKER-POD nodeSelector eks.amazonaws.com/instance-family",
            "is p4d.24xlarge, a family that EC2 does not have; write p4d or p4de",
        ),
        (
            required("kubernetes.io/arch", "x86_64"),
            "WORKER-POD affinity nodeAffinity requiredDuringSchedulingIgnoredDuringExecution nodeSelectorTerms 0 "
            "matchExpressions 0 values 0",
            "is x86_64, a value that no node has; write amd64 or arm64",
        ),
    ],
    "contradicting-labels": [
        (
            {"WORKER-POD nodeSelector": {TYPE: "p4d.24xlarge", "kubernetes.io/arch": "arm64"}},
            "WORKER-POD nodeSelector kubernetes.io/arch",
            "is arm64, but p4d.24xlarge has x86 processors; write amd64",
        ),
        (
            {"WORKER-POD nodeSelector": {TYPE: "p4d.24xlarge", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
            "WORKER-POD nodeSelector nvidia.com/gpu.product",
            "is NVIDIA-H100-80GB-HBM3, but p4d.24xlarge has A100 GPUs; remove it, or choose another type",
        ),
        (
            {"WORKER-POD nodeSelector": {TYPE: "p4d.24xlarge", "k8s.amazonaws.com/accelerator": "nvidia-tesla-v100"}},
            "WORKER-POD nodeSelector k8s.amazonaws.com/accelerator",
            "is nvidia-tesla-v100, but p4d.24xlarge has A100 GPUs; remove it, or choose another type",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "devices-exceed-node": [
        {},
        {**both("nvidia.com/gpu", 16), "WORKER-POD nodeSelector": GONE},
        {**both("nvidia.com/gpu", 16), **instance_type("p9.99xlarge")},
        both("nvidia.com/gpu", "$N"),
        instance_type("ml.p4d.24xlarge"),
    ],
    "amounts-exceed-node": [
        {},
        {**both("memory", "2000Gi"), "WORKER-POD nodeSelector": GONE},
        {**both("memory", "1800Gi"), **instance_type("p5.48xlarge")},
        {**both("ephemeral-storage", "500Gi"), **instance_type("p5.48xlarge")},
        # Limits may be more than a node has.
        {"WORKER-CONTAINER resources limits cpu": 200},
        both("memory", "$M"),
        # The type has too few GPUs: that is the cause.
        {**both("memory", "2000Gi"), **instance_type("g5.12xlarge")},
        {
            "LAUNCHER-POD nodeSelector": {TYPE: "m7i-flex.xlarge"},
            "LAUNCHER-CONTAINER resources": {"requests": {"cpu": 16}},
        },
    ],
    "instance-type-name": [
        *(instance_type(name) for name in ("p9.99xlarge", "g5g.xlarge", "p6e-gb200.36xlarge", "g7e.48xlarge")),
        *(instance_type(name) for name in ("trn1.32xlarge", "m7i.metal-24xl", "hpc7a.96xlarge", "c5n.18xlarge")),
        *(instance_type(name) for name in ("n1-standard-4", "Standard_ND96asr_v4", "$TYPE", "ml.p5.48xlarge")),
    ],
    "retired-instance-type": [
        {},
        {"WORKER-POD nodeSelector": GONE},
        {**required(TYPE, "p3.16xlarge", "p3dn.24xlarge"), **WITHOUT_EFA},
        # Of another provider, or not in the catalog.
        *(instance_type(name) for name in ("n1-standard-4", "p9.16xlarge", "$TYPE")),
        # Whether SageMaker still has it is not known.
        {**instance_type("ml.p3.16xlarge"), **WITHOUT_EFA},
    ],
    "node-label-key": [
        {"WORKER-POD nodeSelector": {"node-type": "gpu", "team/zone": "a", "nvidia.com/gpu.deploy.driver": "true"}},
        {"WORKER-POD nodeSelector": {"example.com/instance-type": "p4d.24xlarge"}},
        {
            "WORKER-POD nodeSelector": {
                "topology.k8s.aws/network-node-layer-1": "nn-1",
                "node-role.kubernetes.io/gpu": "",
                "karpenter.k8s.aws/instance-cpu-manufacturer": "amd",
                "eks.amazonaws.com/nodegroup-image": "ami-1",
                "eks.amazonaws.com/instance-gpu-name": "a100",
            }
        },
    ],
    "node-label-value": [
        {"WORKER-POD nodeSelector": {"karpenter.sh/capacity-type": "spot", "kubernetes.io/os": "linux"}},
        {"WORKER-POD nodeSelector": {"topology.kubernetes.io/zone": "us-west-2-lax-1a"}},
        *(
            {"WORKER-POD nodeSelector": {"karpenter.k8s.aws/instance-family": family}}
            for family in ("p5en", "g6e", "p6-b200", "p6e-gb200", "g8e", "m7i", "trn2")
        ),
        {"WORKER-POD nodeSelector": {"topology.kubernetes.io/zone": "${ZONE}"}},
    ],
    "contradicting-labels": [
        {"WORKER-POD nodeSelector": {TYPE: "p4d.24xlarge", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}},
        {"WORKER-POD nodeSelector": {TYPE: "p4d.24xlarge", "k8s.amazonaws.com/accelerator": "nvidia-tesla-a100"}},
        {"WORKER-POD nodeSelector": {"kubernetes.io/arch": "arm64"}},
        {"WORKER-POD nodeSelector": {TYPE: "p4d.24xlarge", "kubernetes.io/arch": "amd64"}},
    ],
}
