"""The programs that are disturbed: what their runs are started with, and what is compared in the end."""

import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.training.mpirun import mpirun
from training.runtime.stop_request import STOPPED

CHECKPOINT_STEPS = 4

_OPTIONS = ["--deterministic", "--learning-rate", "0.1", "--checkpoint-every", f"{CHECKPOINT_STEPS}steps"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Launcher:
    """What starts the ranks."""

    name: str
    command: Callable[[int], list[str]]
    """Returns the command that starts this number of Python ranks."""
    rank: str
    """The module of a rank."""
    stop: signal.Signals
    """With which it asks the ranks to stop."""
    stopped: int
    """Its exit code then."""


def torchrun(ranks: int, *options: str) -> list[str]:
    """Return the command that starts this number of Python ranks by torchrun, once unless an option says otherwise."""
    where = ["--standalone", "--max-restarts=0", *options]
    return [
        *(sys.executable, "-m", "torch.distributed.run", *where),
        *(f"--nproc-per-node={ranks}", "--no-python", sys.executable),
    ]


MPIRUN = Launcher(name="mpirun", command=mpirun, rank="tests.faults.rank", stop=signal.SIGUSR1, stopped=STOPPED)
TORCHRUN = Launcher(name="torchrun", command=torchrun, rank="tests.faults.torch_rank", stop=signal.SIGTERM, stopped=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A training program with a tiny network."""

    name: str
    """For FAULTS_PROGRAM."""
    launcher: Launcher
    data: str
    """The folder of its undamaged shards, in that of the session."""
    options: Sequence[str]
    """Options of each run."""
    epochs: int
    """Number of epochs of each run."""
    results: Sequence[str]
    """The names in results.json that are the same after each fault."""
    alone: str
    """What a rank prints of its rate when it resumes alone."""


_DIGITS = [
    *("--classes", "10", "--image-size", "32", "--batch-size", "32", "--epochs", "3", "--warmup-epochs", "0"),
    *_OPTIONS,
]
_SAME = ("evaluated_images", "steps", "epochs", "damaged_records", "history")
_ALONE = "learning rate: 0.1 x 32 / 256 = 0.0125"

RESNET50 = Program(
    name="resnet50",
    launcher=MPIRUN,
    data="data",
    options=_DIGITS,
    epochs=3,
    results=("accuracy", "top5_accuracy", *_SAME),
    alone=_ALONE,
)

TORCH_IMAGENET = Program(
    name="torch_imagenet",
    launcher=TORCHRUN,
    data="data",
    options=[*_DIGITS, "--data-workers", "1"],
    epochs=3,
    results=("accuracy", "top5_accuracy", *_SAME),
    alone=_ALONE,
)

MASK_RCNN = Program(
    name="mask_rcnn",
    launcher=MPIRUN,
    data="shapes",
    # Of 48 images, 4 a step, in two buckets: 11 or 12 steps an epoch.
    options=[
        *("--architecture", "small", "--short-side", "64", "--long-side", "64", "--batch-size", "2", "--epochs", "4"),
        *("--warmup-steps", "0", "--clip-norm", "1", "--evaluate-every", "4epochs"),
        *_OPTIONS,
    ],
    epochs=4,
    results=("bbox/AP", "segm/AP", "segm/AR100", *_SAME),
    alone="learning rate (reference): 0.1 x 2 / 8 = 0.025",
)
