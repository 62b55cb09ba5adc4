"""Starts ranks of this project's programs under mpirun."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]

# A rank here has one core, to compute with and to add gradients up with. Unasked, MPI waits for the others by spinning
# on it, a thousand times a second: two ranks of ResNet-50 were then 1.2 times as fast as one.
_NO_SPINNING = {"OMPI_MCA_mpi_yield_when_idle": "1", "HOROVOD_CYCLE_TIME": "50"}


def run(
    ranks: int, arguments: Sequence[str], *, bind_to: str, output: int | IO[str] | None = None, **variables: str
) -> str:
    """Runs Python on as many ranks, ends this program if they fail, and returns what they printed, if it is a pipe.

    Args:
        ranks: How many.
        arguments: Of Python.
        bind_to: `core`: each has one of its own; `none`.
        output: As `subprocess.run` takes it for stdout.
        variables: Of the environment, besides the present ones.
    """
    # The environment's own mpirun goes first: Horovod is compiled against it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpirun = shutil.which("mpirun", path=path)
    if not mpirun:
        sys.exit("error: mpirun is missing: run `make setup`")
    place = "core" if bind_to == "core" else "slot:OVERSUBSCRIBE"
    flags = ["--map-by", place, "--bind-to", bind_to, "--mca", "pml", "ob1", "--mca", "btl", "^openib"]
    root = {f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")}
    done = subprocess.run(
        [mpirun, "-np", str(ranks), *flags, sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | root | _NO_SPINNING | variables,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"error: the ranks ended with {done.returncode}\n{done.stderr}")
    return done.stdout or ""
