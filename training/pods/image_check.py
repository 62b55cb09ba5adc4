"""Check an image at the end of its build: what would otherwise fail on the GPUs, or be slow there without an error.

python -m training.pods.image_check

What must be there follows from the image: with CUDA, Horovod has NCCL; with the EFA userspace, NCCL's plugin loads.
"""

import ctypes
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import horovod.tensorflow as hvd

from training.pods import device_checks
from training.pods.requested import Requested

#: NCCL's own number of 2.18.5, the first for P5; the EFA plugin needs 2.17.1 (https://github.com/aws/aws-ofi-nccl).
OLDEST_NCCL = 21805

# What TensorFlow 2.15 opens on a GPU, and only there: on another machine it starts without them.
_CUDA_LIBRARIES = (
    *("cudart.so.12", "cublas.so.12", "cublasLt.so.12", "cudnn.so.8"),
    *("cufft.so.11", "cusolver.so.11", "cusparse.so.12"),
)


def main(root: Path = Path("/")) -> int:
    """Print what is wrong; return 1 if anything is."""
    built = {"MPI": hvd.mpi_built(), "Gloo": hvd.gloo_built(), "NCCL": hvd.nccl_built()}
    problems = [*python(sys.version_info.releaselevel), *horovod(built)]
    if device_checks.has_cuda(root):
        problems += [*nccl(built["NCCL"], version_of("libnccl.so.2")), *cuda()]
        # After the libraries above are loaded.
        problems += one_nccl(Path("/proc/self/maps").read_text())
    if (root / "opt/amazon/efa").exists():
        problems += map(str, device_checks.efa_plugin(Requested(efa=1), root))
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def python(level: str) -> Iterator[str]:
    """Yield that Python is no release: distributions keep release candidates without updates."""
    if level != "final":
        yield f"Python {sys.version.split()[0]} is no release; build with a Python that gets security updates"


def horovod(built: Mapping[str, int]) -> Iterator[str]:
    """Yield what Horovod was built without."""
    for name in ("MPI", "Gloo"):
        if not built[name]:
            yield f"Horovod was built without {name}; its build's log says why"


def nccl(built: int, loaded: int) -> Iterator[str]:
    """Yield that Horovod has no NCCL, or that an NCCL is too old."""
    if not built:
        yield "Horovod was built without NCCL, although the base has CUDA: the ranks would reduce on the CPU"
        return
    for number, which in ((built, "Horovod was built with"), (loaded, "the image loads")):
        if number < OLDEST_NCCL:
            yield f"{which} NCCL {_words(number)}; P5 and the EFA plugin need {_words(OLDEST_NCCL)} or newer"


def one_nccl(maps: str) -> Iterator[str]:
    """Yield that a process has several NCCLs: the EFA plugin would be that of one of them."""
    found = sorted(set(re.findall(r"/\S*libnccl\.so\S*", maps)))
    if len(found) > 1:
        yield f"a rank loads several NCCLs: {', '.join(found)}; keep that of the base"


def cuda() -> Iterator[str]:
    """Yield what TensorFlow and XLA would miss on a GPU."""
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


def _words(number: int) -> str:
    """Return 21805 as 2.18.5."""
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


if __name__ == "__main__":
    sys.exit(main())
