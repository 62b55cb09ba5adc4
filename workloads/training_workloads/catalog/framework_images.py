"""Which GPUs a framework's image supports, each image with its evidence.

The rule: machine code runs on GPUs of its major compute capability with the same or a later minor number; others need
PTX, which the driver compiles (https://docs.nvidia.com/cuda/blackwell-compatibility-guide). cuDNN has that from 9 on
(https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/developer/forward-compatibility.html). All pages were read
on 2026-11-22; no image was run on any of these GPUs.
"""

import re
from dataclasses import dataclass
from typing import Any

from training_workloads.catalog.gpus import Gpu
from training_workloads.validation import Problems, one_of

__all__ = [
    "DEFAULT_FRAMEWORK",
    "FRAMEWORKS",
    "OTHER_FRAMEWORK",
    "TORCH_FRAMEWORKS",
    "SupportedGpus",
    "known_framework",
    "shown_capability",
    "supported_compute_capabilities",
]

_CUDNN_8 = "https://docs.nvidia.com/deeplearning/cudnn/archives/cudnn-896/support-matrix"
_INVALID_PTX = "https://github.com/tensorflow/tensorflow/issues/101746"
#: The architectures of each wheel.
_TORCH_BUILDS = "https://github.com/pytorch/pytorch/blob/v2.9.1/.ci/manywheel/build_cuda.sh"
#: The support that CUDA 13 removes.
_VOLTA = "https://github.com/pytorch/pytorch/issues/157517"
_CUDA_11_7 = "https://discuss.pytorch.org/t/why-torch1-13-x-jit-compiler-doesnt-support-sm90/199676"
_CUDNN_BEFORE_9 = "https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/developer/forward-compatibility.html"
_NGC_25_01 = "https://docs.nvidia.com/deeplearning/triton-inference-server/release-notes/rel-25-01.html"


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportedGpus:
    """The compute capabilities on which an image runs.

    Attributes:
        software: The software that decides it, such as "TensorFlow 2.15 with CUDA 12.2 and cuDNN 8.9".
        oldest: First compute capability.
        newest_major: Last major compute capability, with all its minor numbers.
        evidence: URL of the page that says so.
    """

    software: str
    oldest: tuple[int, int]
    newest_major: int
    evidence: str

    def includes(self, gpu: Gpu) -> bool:
        """Return whether the image runs on a GPU."""
        return self.oldest <= gpu.compute_capability and gpu.compute_capability[0] <= self.newest_major

    def __str__(self) -> str:
        """Return the software and its range."""
        return f"{self.software} supports {shown_capability(self.oldest)} to {self.newest_major}.x"


#: What an image that runs this project's programs may contain; the first is that of `training/Dockerfile`. The oldest
#: is V100, below which the catalog has nothing. What the wheel of 2.15.1 contains, `tf.sysconfig.get_build_info` says:
#: machine code up to 8.0, and PTX, which H100 compiles at the first start, for up to 30 minutes
#: (https://github.com/tensorflow/tensorflow/issues/62320). On Blackwell 2.16 and 2.20 end with CUDA_ERROR_INVALID_PTX.
FRAMEWORKS = {
    "tensorflow-2.15": SupportedGpus(
        software="TensorFlow 2.15 with CUDA 12.2 and cuDNN 8.9", oldest=(7, 0), newest_major=9, evidence=_CUDNN_8
    ),
    "tensorflow-2.18": SupportedGpus(
        software="TensorFlow 2.18 with CUDA 12.5 and cuDNN 9.3", oldest=(7, 0), newest_major=9, evidence=_INVALID_PTX
    ),
}

#: What the images of `training/torch.Dockerfile` contain, by the lock in `requirements/`. The machine code of each
#: wheel was printed with `torch._C._cuda_getArchFlags()` on 2026-11-23: from 7.5, and from 7.0, to 12.0.
TORCH_FRAMEWORKS = {
    "torch": SupportedGpus(software="PyTorch 2.15 with CUDA 13.2", oldest=(7, 5), newest_major=12, evidence=_VOLTA),
    "torch-cuda12": SupportedGpus(
        software="PyTorch 2.10 with CUDA 12.8", oldest=(7, 0), newest_major=12, evidence=_TORCH_BUILDS
    ),
}

DEFAULT_FRAMEWORK = next(iter(FRAMEWORKS))

#: The user's own build, which is not checked.
OTHER_FRAMEWORK = "other"


def known_framework(name: str, value: Any) -> Problems:
    """Reject unknown names of a framework; None is allowed."""
    if value is not None:
        yield from one_of(name, value, (*FRAMEWORKS, OTHER_FRAMEWORK))


def shown_capability(capability: tuple[int, int]) -> str:
    """Return a compute capability as NVIDIA writes it."""
    return "{}.{}".format(*capability)


def supported_compute_capabilities(image: str) -> SupportedGpus | None:
    """Return the known contents of a public image by its address.

    Args:
        image: With its tag. A mirror's address counts if it keeps the end of the path and the tag.

    Returns:
        None for every other image: what it contains is not known.
    """
    for pattern, supported in _PUBLIC_IMAGES:
        if match := re.search(pattern, image):
            return supported(*(int(number) for number in match.groups()))
    return None


def _tensorflow(major: int, minor: int) -> SupportedGpus | None:
    """Return it for tensorflow/tensorflow: until 2.11 with cuDNN 8.1, from 2.12 on with 8.6, which has Hopper.

    https://www.tensorflow.org/install/source#gpu
    """
    software = f"TensorFlow {major}.{minor} of Docker Hub"
    if (2, 4) <= (major, minor) < (2, 12):
        return SupportedGpus(software=software, oldest=(3, 5), newest_major=8, evidence=_CUDNN_BEFORE_9)
    if (2, 12) <= (major, minor) <= (2, 20):
        return SupportedGpus(software=software, oldest=(6, 0), newest_major=9, evidence=_INVALID_PTX)
    return None


def _by_cuda(major: int, minor: int) -> SupportedGpus | None:
    """Return it for PyTorch's wheels and AWS's Deep Learning Containers, whose tags contain their CUDA."""
    software = f"the image's CUDA {major}.{minor}"
    if (11, 0) <= (major, minor) < (11, 8):
        return SupportedGpus(software=software, oldest=(3, 5), newest_major=8, evidence=_CUDA_11_7)
    if (11, 8) <= (major, minor) < (12, 8):
        return SupportedGpus(software=software, oldest=(5, 0), newest_major=9, evidence=_TORCH_BUILDS)
    if (12, 8) <= (major, minor) < (13, 0):
        return SupportedGpus(software=software, oldest=(7, 0), newest_major=12, evidence=_TORCH_BUILDS)
    if major == 13:
        return SupportedGpus(software=software, oldest=(7, 5), newest_major=12, evidence=_VOLTA)
    return None


def _ngc(year: int, month: int) -> SupportedGpus | None:
    """Return it for NVIDIA's images: CUDA 11.8 from 22.10 on, cuDNN 8 until 24.01, CUDA 12.8 from 25.01 on."""
    software = f"NVIDIA's release {year}.{month:02}"
    if (20, 6) <= (year, month) <= (22, 8):
        return SupportedGpus(software=software, oldest=(6, 0), newest_major=8, evidence=_CUDNN_BEFORE_9)
    if (22, 10) <= (year, month) <= (24, 1):
        return SupportedGpus(software=software, oldest=(6, 0), newest_major=9, evidence=_CUDNN_BEFORE_9)
    if (25, 1) <= (year, month):
        return SupportedGpus(software=software, oldest=(7, 5), newest_major=12, evidence=_NGC_25_01)
    return None


_PUBLIC_IMAGES = (
    (r"(?:^|/)tensorflow/tensorflow:(\d+)\.(\d+)[\w.]*-gpu", _tensorflow),
    (r"(?:^|/)nvidia/(?:tensorflow|pytorch):(\d\d)\.(\d\d)-", _ngc),
    (r"(?:^|/)pytorch/pytorch:[\w.]+-cuda(\d\d)\.(\d+)-", _by_cuda),
    (r"/(?:\w+-)?(?:tensorflow|pytorch)-training:[\w.-]*-cu(\d\d)(\d)\b", _by_cuda),
)
