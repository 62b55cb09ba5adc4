"""Check an image at the end of its build for faults that show on the GPUs only, or as slow ranks without an error.

python -m training.pods.image_check

The required parts follow from the image: with CUDA, Horovod has NCCL; with the EFA userspace, NCCL's plugin loads.
"""

import ctypes
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import horovod.tensorflow as hvd

from training.pods import device_checks, image_parts

# The libraries that TensorFlow 2.15 opens on a GPU, and only there: on another machine it starts without them.
_CUDA_LIBRARIES = (
    *("cudart.so.12", "cublas.so.12", "cublasLt.so.12", "cudnn.so.8"),
    *("cufft.so.11", "cusolver.so.11", "cusparse.so.12"),
)


def main(root: Path = Path("/")) -> int:
    """Print the problems; return 1 if there are any."""
    built = {"MPI": hvd.mpi_built(), "Gloo": hvd.gloo_built(), "NCCL": hvd.nccl_built()}
    problems = [*image_parts.python(sys.version_info.releaselevel), *horovod(built)]
    if device_checks.has_cuda(root):
        problems += [*nccl(built["NCCL"], version_of("libnccl.so.2")), *cuda()]
        # After the libraries above are loaded.
        problems += image_parts.one_nccl(Path("/proc/self/maps").read_text())
    return image_parts.verdict(problems, root)


def horovod(built: Mapping[str, int]) -> Iterator[str]:
    """Yield the parts without which Horovod was built."""
    for name in ("MPI", "Gloo"):
        if not built[name]:
            yield f"Horovod was built without {name}; its build's log says why"


def nccl(built: int, loaded: int) -> Iterator[str]:
    """Yield that Horovod has no NCCL, or that an NCCL is too old."""
    if not built:
        yield "Horovod was built without NCCL, although the base has CUDA: the ranks would reduce on the CPU"
        return
    yield from image_parts.new_enough(built, "Horovod was built with")
    yield from image_parts.new_enough(loaded, "the image loads")


def cuda() -> Iterator[str]:
    """Yield the files that TensorFlow and XLA would miss on a GPU."""
    for name in _CUDA_LIBRARIES:
        try:
            ctypes.CDLL(f"lib{name}")
        except OSError as error:
            yield f"TensorFlow cannot open {error}; take a base with CUDA 12.2 and cuDNN 8"
    if not shutil.which("ptxas"):
        yield "XLA finds no ptxas on the PATH; take a 'devel' base"


def version_of(library: str) -> int:
    """Return the number of an NCCL, 0 if it cannot be loaded."""
    number = ctypes.c_int()
    try:
        ctypes.CDLL(library).ncclGetVersion(ctypes.byref(number))
    except OSError:
        return 0
    return number.value


if __name__ == "__main__":
    sys.exit(main())
