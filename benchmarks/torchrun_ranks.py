"""Ranks of this project's program on PyTorch, under torchrun."""

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.mpirun_ranks import ROOT

_PYTHON = ROOT / ".venv-torch/bin/python"


def start(
    ranks: int, arguments: Sequence[str], *, bind_to: str, pipes: int | None = None, **variables: str
) -> subprocess.Popen[str]:
    """Start Python on this number of ranks, with stderr kept for `mpirun_ranks.finish`.

    Args:
        ranks: Number of ranks.
        arguments: Arguments of Python.
        bind_to: `none`: torchrun binds no rank to a core; one that is to be bound binds itself.
        pipes: As `subprocess.Popen` takes it for stdin and stdout, which all ranks have.
        variables: Added to the environment.
    """
    if not _PYTHON.exists():
        sys.exit("error: PyTorch is missing: run `make setup-torch`")
    assert bind_to == "none", f"torchrun does not bind to a {bind_to}"
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", "--no-python"]
    process = subprocess.Popen(
        [str(_PYTHON), *torchrun, str(_PYTHON), *arguments],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=pipes,
        stdout=pipes,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Whatever ends this program ends the ranks.
    atexit.register(process.terminate)
    return process
