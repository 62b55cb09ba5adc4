"""What the rules of `lint.rules.image_rules` find, and what they accept."""

from typing import Any

from tests.workloads.lint.sample_job import GONE, both, instance_type

LAUNCHER, WORKER = "LAUNCHER-CONTAINER image", "WORKER-CONTAINER image"
KEPT = {f"{role}-CONTAINER imagePullPolicy": "IfNotPresent" for role in ("LAUNCHER", "WORKER")}
EFA = both("vpc.amazonaws.com/efa", 8)
DIGEST = "sha256:" + "0a" * 32
AWS = "763104351884.dkr.ecr.us-west-2.amazonaws.com"

#: For each rule: changes to the right job, then the place and the text of each finding.
FIRES: dict[str, list[tuple[Any, ...]]] = {
    "floating-image-tag": [
        (
            {WORKER: "training:latest", **KEPT},
            "WORKER-CONTAINER image",
            "has the tag latest, or none, and IfNotPresent: nodes keep the version that they pulled first; write the "
            "version's tag, or its digest",
        ),
        (
            {LAUNCHER: "registry.example:5000/training", **KEPT},
            "LAUNCHER-CONTAINER image",
            "has the tag latest, or none, and IfNotPresent: nodes keep the version that they pulled first; write the "
            "version's tag, or its digest",
        ),
        (
            {LAUNCHER: "training", WORKER: "training:latest", **KEPT},
            "LAUNCHER-CONTAINER image",
            "has the tag latest, or none, and IfNotPresent: nodes keep the version that they pulled first; write the "
            "version's tag, or its digest",
        ),
    ],
    "different-images": [
        (
            {WORKER: "image:2"},
            "WORKER-CONTAINER image",
            "has the tag 2, but other pods of the job run 1; write the same tag in all of them",
        ),
    ],
    "image-and-gpu": [
        (
            {WORKER: "nvcr.io/nvidia/tensorflow:23.03-tf2-py3", **instance_type("p6-b200.48xlarge"), **EFA},
            "WORKER-CONTAINER image",
            "is for other GPUs: NVIDIA's release 23.03 supports 6.0 to 9.x, but B200 has 10.0; choose a version for "
            "that GPU, or another type",
        ),
        (
            {WORKER: "pytorch/pytorch:1.12.1-cuda11.3-cudnn8-runtime", **instance_type("p5.48xlarge")},
            "WORKER-CONTAINER image",
            "is for other GPUs: the image's CUDA 11.3 supports 3.5 to 8.x, but H100 has 9.0; choose a version for "
            "that GPU, or another type",
        ),
    ],
    "image-without-cuda": [
        (
            {WORKER: "tensorflow/tensorflow:2.15.0"},
            "WORKER-CONTAINER image",
            "is an image for CPUs, and its framework does not see the container's GPUs; write the tag for GPUs",
        ),
        (
            {WORKER: f"{AWS}/pytorch-training:2.4.0-cpu-py311-ubuntu22.04-ec2"},
            "WORKER-CONTAINER image",
            "is an image for CPUs, and its framework does not see the container's GPUs; write the tag for GPUs",
        ),
    ],
}

#: For each rule: changes that it accepts.
SILENT: dict[str, list[dict[str, Any]]] = {
    "floating-image-tag": [
        # Its policy is Always, and each pod pulls the same one.
        {LAUNCHER: "training:latest", WORKER: "training:latest"},
        {WORKER: "training:latest", **KEPT, "WORKER replicas": 1},
        {"WORKER-CONTAINER image": "train", "WORKER-CONTAINER imagePullPolicy": "Never"},
        {"WORKER-CONTAINER image": "docker.io/library/python", **KEPT},
        {},
        {WORKER: f"training@{DIGEST}", **KEPT},
        {WORKER: "localhost/training:latest", **KEPT},
        {WORKER: "${REGISTRY}/training", **KEPT},
        {WORKER: "not an address", **KEPT},
    ],
    "different-images": [
        {WORKER: "other:2"},
        {WORKER: f"image@{DIGEST}"},
        # Another variant.
        {LAUNCHER: "image:1-cpu", WORKER: "image:1-gpu"},
        # That the tag moves is reported already.
        {WORKER: "image:latest"},
    ],
    "image-and-gpu": [
        {WORKER: "nvcr.io/nvidia/tensorflow:23.03-tf2-py3"},
        {WORKER: "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime", **instance_type("p6-b200.48xlarge"), **EFA},
        {WORKER: "image:1", **instance_type("p6-b200.48xlarge"), **EFA},
        {WORKER: "nvcr.io/nvidia/tensorflow:23.03-tf2-py3", "WORKER-POD nodeSelector": GONE},
    ],
    "image-without-cuda": [
        {WORKER: "tensorflow/tensorflow:2.15.0-gpu"},
        {WORKER: f"{AWS}/pytorch-training:2.4.0-gpu-py311-cu124-ubuntu22.04-ec2"},
        {WORKER: "tensorflow/tensorflow:2.15.0", **both("nvidia.com/gpu", GONE)},
        {LAUNCHER: "tensorflow/tensorflow:2.15.0"},
    ],
}
