"""Networks of torchvision on ImageNet with PyTorch, from shards on Lustre: the page docs/jobs/torch-imagenet.md.

    trainctl render torch-resnet50-p4d --image <address>
    trainctl submit dist/jobs/torch-resnet50-p4d.k8s.yaml

A job may lose a worker and continue with the other: a checkpoint every 500 steps bounds what that costs.

The image is that of `training/torch.Dockerfile`. PyTorch's wheels with CUDA 13 have no code for V100, so P3dn has the
one with CUDA 12.

Accuracy of ResNet-50: 76.9 to 77.1 % top-1 (published, NVIDIA DeepLearningExamples,
PyTorch/Classification/ConvNets/resnet50v1.5). Of EfficientNet-B7 with SGD nothing is published; its authors used
RMSProp (arXiv:1905.11946). Here: not measured.
"""

from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.jobs.volumes import RUNS_DIRECTORY, SharedVolume
from training_workloads.mpijob.programs import LOCAL_TORCH_CUDA12_IMAGE, LOCAL_TORCH_IMAGE, TORCH_IMAGENET
from training_workloads.recipes.resnet50 import DATA_FOLDER

__all__ = ["torch_efficientnet_b7_p3dn", "torch_efficientnet_b7_p4d", "torch_resnet50_p3dn", "torch_resnet50_p4d"]


def _command(job: str, model: str, batch_size: int) -> tuple[str, ...]:
    shared = SharedVolume()
    folders = ("--data-dir", shared.path(DATA_FOLDER), "--output-dir", shared.path(f"{RUNS_DIRECTORY}/{job}"))
    options = ("--model", model, "--batch-size", str(batch_size), "--checkpoint-every", "500steps")
    return (*TORCH_IMAGENET, *folders, *options)


def _p3dn(name: str, command: tuple[str, ...]) -> TorchElasticJobSpec:
    image = LOCAL_TORCH_CUDA12_IMAGE
    return TorchElasticJobSpec(name=name, image=image, command=command, instance_type="p3dn.24xlarge", workers=2)


def _p4d(name: str, command: tuple[str, ...]) -> TorchElasticJobSpec:
    image = LOCAL_TORCH_IMAGE
    return TorchElasticJobSpec(name=name, image=image, command=command, instance_type="p4d.24xlarge", workers=2)


def torch_resnet50_p3dn(name: str = "torch-resnet50-p3dn") -> TorchElasticJobSpec:
    """Sixteen V100 on two nodes, EFA between them; the image needs its userspace (`EFA_INSTALLER_VERSION`).

    Expected: 8,322 images/s for each node with 256 images on each GPU (published, NVIDIA DeepLearningExamples, with
    DALI). On p3dn.24xlarge: not measured.
    """
    return _p3dn(name, _command(name, "resnet50", 256))


def torch_resnet50_p4d(name: str = "torch-resnet50-p4d") -> TorchElasticJobSpec:
    """Sixteen A100 on two nodes, EFA between them; the image needs its userspace (`EFA_INSTALLER_VERSION`).

    Expected: 16,621 images/s for each node with 256 images on each GPU (published, NVIDIA DeepLearningExamples, DGX
    A100 of 80 GB, with DALI). On p4d.24xlarge: not measured.
    """
    return _p4d(name, _command(name, "resnet50", 256))


def torch_efficientnet_b7_p3dn(name: str = "torch-efficientnet-b7-p3dn") -> TorchElasticJobSpec:
    """Sixteen V100 on two nodes, EFA between them, images of 600 pixels; the image as for ResNet-50.

    Eight images on each GPU: what 24 GB held (`torch_efficientnet_b7_p4d`), of the 32 GB of these V100. Not measured.
    """
    return _p3dn(name, _command(name, "efficientnet-b7", 8))


def torch_efficientnet_b7_p4d(name: str = "torch-efficientnet-b7-p4d") -> TorchElasticJobSpec:
    """Sixteen A100 on two nodes, EFA between them, images of 600 pixels; the image as for ResNet-50.

    Eight images on each GPU, which a GPU of 24 GB held at 38 images/s (published, RTX 3090, mixed precision,
    https://github.com/huggingface/pytorch-image-models/blob/main/results/benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv,
    read 2026-11-23). The 40 GB of an A100 have room for more. Not measured.
    """
    return _p4d(name, _command(name, "efficientnet-b7", 8))
