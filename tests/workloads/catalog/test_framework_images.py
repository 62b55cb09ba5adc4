from pathlib import Path
from typing import Any

import pytest

from training_workloads import INSTANCE_TYPES, ElasticHorovodJobSpec, HorovodJobSpec, InputError, NcclTestJobSpec
from training_workloads.catalog import Gpu
from training_workloads.catalog.framework_images import (
    FRAMEWORKS,
    TORCH_FRAMEWORKS,
    SupportedGpus,
    shown_capability,
    supported_compute_capabilities,
)

GPUS = {one.gpu.model: one.gpu for one in INSTANCE_TYPES.values() if one.gpu}
HOPPER, BLACKWELL = "p5.48xlarge", "p6-b200.48xlarge"

#: One image of each row of the documentation's table.
PUBLIC = (
    "tensorflow/tensorflow:2.11.0-gpu",
    "tensorflow/tensorflow:2.15.0-gpu",
    "tensorflow/tensorflow:2.20.0-gpu",
    "nvcr.io/nvidia/tensorflow:22.08-tf2-py3",
    "nvcr.io/nvidia/tensorflow:23.03-tf2-py3",
    "nvcr.io/nvidia/tensorflow:25.02-tf2-py3",
    "pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime",
    "pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime",
    "pytorch/pytorch:2.6.0-cuda12.6-cudnn9-runtime",
    "pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime",
    "pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime",
)


def rows() -> dict[str, SupportedGpus]:
    public = {image: supported_compute_capabilities(image) for image in PUBLIC}
    return FRAMEWORKS | TORCH_FRAMEWORKS | {image: known for image, known in public.items() if known}


def cell(supported: SupportedGpus, capability: tuple[int, int]) -> str:
    gpu = next(gpu for gpu in GPUS.values() if gpu.compute_capability == capability)
    return "yes" if supported.includes(gpu) else "no"


def test_the_page_has_the_table_of_the_catalog(root: Path) -> None:
    capabilities = sorted({gpu.compute_capability for gpu in GPUS.values()})
    heads = [
        f"{', '.join(sorted(gpu.model for gpu in GPUS.values() if gpu.compute_capability == each))} "
        f"({shown_capability(each)})"
        for each in capabilities
    ]
    lines = [f"| image | {' | '.join(heads)} | by |", f"|---{'|---' * len(heads)}|---|"]
    for name, supported in rows().items():
        cells = " | ".join(cell(supported, each) for each in capabilities)
        lines.append(f"| `{name}` | {cells} | [{evidence_name(supported)}]({supported.evidence}) |")
    assert "\n".join(lines) in (root / "docs/images.md").read_text(), "\n".join(lines)


def evidence_name(supported: SupportedGpus) -> str:
    names = {
        "cudnn-896": "cuDNN 8.9",
        "forward-compatibility": "cuDNN",
        "tensorflow/issues": "tensorflow#101746",
        "manywheel": "PyTorch",
        "pytorch/issues": "pytorch#157517",
        "discuss.pytorch": "PyTorch",
        "triton": "NVIDIA",
    }
    return next(name for part, name in names.items() if part in supported.evidence)


@pytest.mark.parametrize(
    ("image", "supported"),
    [
        ("tensorflow/tensorflow:2.15.0.post1-gpu-jupyter", ["V100", "H100"]),
        ("docker.io/tensorflow/tensorflow:2.9.1-gpu", ["V100", "A100"]),
        ("111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror/nvidia/pytorch:23.12-py3", ["V100", "H100"]),
        (
            "763104351884.dkr.ecr.us-west-2.amazonaws.com/tensorflow-training:2.13.0-gpu-py310-cu118-ubuntu20.04-ec2",
            ["V100", "H100"],
        ),
        (
            "763104351884.dkr.ecr.us-west-2.amazonaws.com/huggingface-pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04",
            ["T4", "H100", "B200", "B300"],
        ),
        ("public.ecr.aws/deep-learning-containers/pytorch-training:1.12.1-gpu-py38-cu113-ubuntu20.04", ["A100"]),
    ],
)
def test_public_images_by_their_addresses(image: str, supported: list[str]) -> None:
    known = supported_compute_capabilities(image)
    assert known
    expected = {"V100", "T4", "A100", "H100", "B200", "B300"}
    found = {model for model in expected if known.includes(GPUS[model])}
    assert set(supported) <= found
    newest = max(GPUS[model].compute_capability for model in supported)
    assert {model for model in expected if GPUS[model].compute_capability > newest}.isdisjoint(found)


@pytest.mark.parametrize(
    "image",
    [
        "",
        "training:1",
        "111122223333.dkr.ecr.us-east-1.amazonaws.com/training:2.15.0-gpu",
        "mytensorflow/tensorflow:2.15.0-gpu",
        "tensorflow/tensorflow:latest-gpu",
        "tensorflow/tensorflow:2.15.0",
        "tensorflow/tensorflow:3.1.0-gpu",
        # With cuDNN 9, whose PTX may or may not be enough.
        "nvcr.io/nvidia/tensorflow:24.05-tf2-py3",
        "nvcr.io/nvidia/tensorflow:22.09-tf2-py3",
        "pytorch/pytorch:latest",
        "pytorch/pytorch:2.1.0-cuda10.2-cudnn7-runtime",
        "763104351884.dkr.ecr.us-west-2.amazonaws.com/tensorflow-training:2.13.0-cpu-py310-ubuntu20.04-ec2",
    ],
)
def test_nothing_is_known_of_other_images(image: str) -> None:
    assert supported_compute_capabilities(image) is None


def spec(kind: Any = HorovodJobSpec, **changes: Any) -> Any:
    plain = {"name": "job", "image": "image:1", "command": ("train",), "instance_type": BLACKWELL, "workers": 2}
    return kind(**{**plain, **changes})


@pytest.mark.parametrize("kind", [HorovodJobSpec, ElasticHorovodJobSpec])
def test_the_default_image_runs_on_no_blackwell_gpu(kind: Any) -> None:
    with pytest.raises(InputError) as caught:
        spec(kind)
    assert str(caught.value) == (
        "'instance_type' is 'p6-b200.48xlarge', but its B200 has compute capability 10.0, and TensorFlow 2.15 with "
        "CUDA 12.2 and cuDNN 8.9 supports 7.0 to 9.x; choose a type with another GPU, or for an image that supports "
        "this one give the framework 'other'"
    )


@pytest.mark.parametrize("name", [name for name, one in INSTANCE_TYPES.items() if one.gpu])
def test_the_default_image_runs_on_every_gpu_before_blackwell(name: str) -> None:
    gpu = INSTANCE_TYPES[name].gpu
    assert isinstance(gpu, Gpu)
    changes = {"framework": "other"} if gpu.compute_capability >= (10, 0) else {}
    assert spec(instance_type=name, **changes).framework == changes.get("framework")


def test_an_image_with_a_newer_framework_has_a_way_through() -> None:
    assert spec(framework="other").instance_type == BLACKWELL
    assert spec(image="nvcr.io/nvidia/tensorflow:25.02-tf2-py3").instance_type == BLACKWELL
    with pytest.raises(InputError, match=r"TensorFlow 2\.18 with CUDA 12\.5 and cuDNN 9\.3 supports 7\.0 to 9\.x"):
        spec(framework="tensorflow-2.18")
    # nccl-tests need no cuDNN, and have PTX.
    assert NcclTestJobSpec(name="job", image="image:1", instance_type=BLACKWELL).instance.gpu == GPUS["B200"]


def test_a_known_public_image_is_checked_by_its_address() -> None:
    with pytest.raises(InputError, match=r"its H100 has compute capability 9\.0, and TensorFlow 2\.9 of Docker Hub"):
        spec(image="tensorflow/tensorflow:2.9.1-gpu", instance_type=HOPPER)
    with pytest.raises(
        InputError, match=r"its V100 has compute capability 7\.0, and the image's CUDA 13\.0 supports 7\.5"
    ):
        spec(image="pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime", instance_type="p3dn.24xlarge")


@pytest.mark.parametrize("framework", ["tf", "", 2.15])
def test_rejects_an_unknown_framework(framework: Any) -> None:
    with pytest.raises(InputError, match=r"give one of tensorflow-2\.15, tensorflow-2\.18, other"):
        spec(framework=framework)
