"""Ranks of this project's programs under mpirun."""

import atexit
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]

# A rank here has one core, for computing and for adding up gradients. By default MPI waits for the others by spinning
# on it, a thousand times a second: two ranks of ResNet-50 were then 1.2 times as fast as one.
_NO_SPINNING = {"OMPI_MCA_mpi_yield_when_idle": "1", "HOROVOD_CYCLE_TIME": "50"}


def start(
    ranks: int, arguments: Sequence[str], *, bind_to: str, pipes: int | None = None, **variables: str
) -> subprocess.Popen[str]:
    """Start Python on this number of ranks, with stderr kept for `finish`.

    Args:
        ranks: Number of ranks.
        arguments: Arguments of Python.
        bind_to: `core`: one for each rank, from the first; `none`.
        pipes: As `subprocess.Popen` takes it for stdin and stdout; stdin is rank 0's.
        variables: Added to the environment.
    """
    # The environment's own mpirun goes first: Horovod is compiled against it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpirun = shutil.which("mpirun", path=path)
    if not mpirun:
        sys.exit("error: mpirun is missing: run `make setup`")
    place = "core" if bind_to == "core" else "slot:OVERSUBSCRIBE"
    flags = ["--map-by", place, "--bind-to", bind_to, "--mca", "pml", "ob1", "--mca", "btl", "^openib"]
    root = {f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")}
    process = subprocess.Popen(
        [mpirun, "-np", str(ranks), *flags, sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | root | _NO_SPINNING | variables,
        stdin=pipes,
        stdout=pipes,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Whatever ends this program ends the ranks.
    atexit.register(process.terminate)
    return process


def finish(process: subprocess.Popen[str]) -> None:
    """Wait for the end of the ranks of either launcher, and end this program if they failed."""
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(f"error: the ranks ended with {process.returncode}\n{errors}")
