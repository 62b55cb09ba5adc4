"""Ranks of this project's programs, under mpirun or under torchrun, and a training run on two of them."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[1]

_TORCH_PYTHON = ROOT / ".venv-torch/bin/python"

# A rank here has one core, for computing and for adding up gradients. By default MPI waits for the others by spinning
# on it, a thousand times a second: two ranks of ResNet-50 were then 1.2 times as fast as one.
_NO_SPINNING = {"OMPI_MCA_mpi_yield_when_idle": "1", "HOROVOD_CYCLE_TIME": "50"}


def start_mpi(
    ranks: int,
    arguments: Sequence[str],
    *,
    bind_to: Literal["core", "none"],
    pipes: int | None = None,
    **variables: str,
) -> subprocess.Popen[str]:
    """Start Python on this number of ranks, with stderr kept for `finish`; a pipe as stdin is rank 0's.

    Bound to a core, each rank has another one, from the first.
    """
    # The environment's own mpirun goes first: Horovod is compiled against it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mpirun = shutil.which("mpirun", path=path)
    if not mpirun:
        sys.exit("error: mpirun is missing: run `make setup`")
    place = "core" if bind_to == "core" else "slot:OVERSUBSCRIBE"
    flags = ["--map-by", place, "--bind-to", bind_to, "--mca", "pml", "ob1", "--mca", "btl", "^openib"]
    root = {f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1" for prefix in ("OMPI", "PRTE") for suffix in ("", "_CONFIRM")}
    command = [mpirun, "-np", str(ranks), *flags, sys.executable, *arguments]
    return _started(command, pipes, root | _NO_SPINNING | variables)


def start_torch(ranks: int, arguments: Sequence[str], *, pipes: int | None = None) -> subprocess.Popen[str]:
    """Start PyTorch's Python on this number of ranks, which share stdin and bind themselves to cores."""
    if not _TORCH_PYTHON.exists():
        sys.exit("error: PyTorch is missing: run `make setup-torch`")
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", "--no-python"]
    return _started([str(_TORCH_PYTHON), *torchrun, str(_TORCH_PYTHON), *arguments], pipes, {})


def _started(command: list[str], pipes: int | None, variables: Mapping[str, str]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **variables},
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


def train(arguments: Sequence[str], output: Path, *, torch: bool = False) -> tuple[dict[str, Any], float]:
    """Run Python with these arguments and '--output-dir' on two ranks; return results.json and the seconds."""
    started = time.monotonic()
    words = [*arguments, "--output-dir", str(output)]
    finish(start_torch(2, words) if torch else start_mpi(2, words, bind_to="none"))
    seconds = time.monotonic() - started
    results: dict[str, Any] = json.loads((output / "results.json").read_text())
    return results, seconds
