"""Check an image with PyTorch at the end of its build for faults that show on the GPUs only.

python -m training.torch_imagenet.torch_image_check
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
import torchvision

from training.pods import image_parts


def main(root: Path = Path("/")) -> int:
    """Print the problems; return 1 if there are any."""
    problems = [
        *image_parts.python(sys.version_info.releaselevel),
        *backends({"Gloo": dist.is_gloo_available(), "NCCL": dist.is_nccl_available()}),
        *machine_code(torch._C._cuda_getArchFlags() or ""),
        *extension(torchvision.extension._has_ops()),
        *programs(("torchrun",)),
    ]
    if dist.is_nccl_available():
        problems += image_parts.new_enough(nccl_number(torch.cuda.nccl.version()), "the image loads")
    # `import torch` has loaded the libraries.
    problems += image_parts.one_nccl(Path("/proc/self/maps").read_text())
    return image_parts.verdict(problems, root)


def backends(built: dict[str, bool]) -> Iterator[str]:
    """Yield the backends without which PyTorch was built."""
    for name, is_there in built.items():
        if not is_there:
            yield f"PyTorch was built without {name}; take its wheel for CUDA, with the lock's hashes"


def machine_code(flags: str) -> Iterator[str]:
    """Yield that PyTorch has no code for a GPU, such as its wheel for CPUs."""
    if not flags.split():
        yield "PyTorch has no code for GPUs; take its wheel for CUDA, with the lock's hashes"


def extension(is_there: bool) -> Iterator[str]:
    """Yield that torchvision is of another release than PyTorch: its operations then do not load."""
    if not is_there:
        yield "torchvision does not fit PyTorch; take both from one lock"


def programs(names: Sequence[str]) -> Iterator[str]:
    """Yield which programs are not on the PATH."""
    for name in names:
        if not shutil.which(name):
            yield f"{name} is not on the PATH; put the folder of Python's programs on it"


def nccl_number(version: tuple[int, ...]) -> int:
    """Return (2, 18, 5) as NCCL's own number, 21805."""
    major, minor, patch = version[:3]
    return major * 10_000 + minor * 100 + patch


if __name__ == "__main__":
    sys.exit(main())
