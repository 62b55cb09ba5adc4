"""The versions of the software that a run's figures depend on."""

import ctypes
import platform
from pathlib import Path

import horovod
import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf


def versions() -> dict[str, str]:
    """Return the versions of the software that a figure depends on."""
    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "horovod": horovod.__version__,
        "numpy": np.__version__,
        "mpi": _mpi_version(),
    }


def _mpi_version() -> str:
    """Return the version of the MPI library that Horovod is linked with; the mpirun on the PATH may have another."""
    if not (hvd.mpi_built() and hvd.mpi_enabled()):
        return "none: Horovod runs on Gloo"
    # Found through Horovod's own library, which is linked with it.
    (horovod_library,) = (Path(horovod.__file__).parent / "tensorflow").glob("mpi_lib*.so")
    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    ctypes.CDLL(str(horovod_library)).MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode().partition(",")[0]
