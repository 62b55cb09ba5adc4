"""The programs that are disturbed: what their runs are started with, and what is compared in the end."""

from collections.abc import Sequence
from dataclasses import dataclass

CHECKPOINT_STEPS = 4

_OPTIONS = ["--deterministic", "--learning-rate", "0.1", "--checkpoint-every", f"{CHECKPOINT_STEPS}steps"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A training program with a tiny network."""

    name: str
    """For FAULTS_PROGRAM."""
    data: str
    """The folder of its undamaged shards, in that of the session."""
    options: Sequence[str]
    """Of each run."""
    epochs: int
    """Of each run."""
    results: Sequence[str]
    """The names in results.json that are the same after each fault."""
    alone: str
    """What a rank prints of its rate when it resumes alone."""


_SAME = ("evaluated_images", "steps", "epochs", "damaged_records", "history")

RESNET50 = Program(
    name="resnet50",
    data="data",
    options=[
        *("--classes", "10", "--image-size", "32", "--batch-size", "32", "--epochs", "3", "--warmup-epochs", "0"),
        *_OPTIONS,
    ],
    epochs=3,
    results=("accuracy", "top5_accuracy", *_SAME),
    alone="learning rate: 0.1 x 32 / 256 = 0.0125",
)

MASK_RCNN = Program(
    name="mask_rcnn",
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
