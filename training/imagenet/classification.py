"""Loss and accuracy of a classifier, whatever computes them."""

import math
from typing import Any

from numpy.typing import NDArray

from training.runtime import ranks
from training.runtime.errors import UserError
from training.runtime.task import Evaluation

# How far the first loss may be from ln(classes), the loss of a network that has learned nothing.
_DISTANCE = 1.0


def check_first_loss(loss: float, classes: int) -> None:
    """Reject a first loss that is not that of an untrained network.

    Raises:
        UserError: Labels or images are not those of the options.
    """
    expected = math.log(classes)
    if not abs(loss - expected) <= _DISTANCE:
        raise UserError(
            f"the first loss is {loss:.2f}, but that of {classes} classes is about {expected:.2f} before "
            "anything is learned; check the images, the labels and '--classes'"
        )


def accuracy_of_ranks(counts: NDArray[Any]) -> Evaluation:
    """Return the accuracy over all ranks, of which each has counted its images once; every rank must call it.

    Args:
        counts: This rank's images, those whose first guess is right, and those with the right label among the first
            five guesses: int64.
    """
    # Whole numbers are added, so the result is the same for any number of ranks.
    images, right, among_five = ranks.current().rows(counts, "right").sum(axis=0).tolist()
    if not images:
        raise UserError("none of the validation images can be used; convert the data set again")
    top1, top5 = right / images, among_five / images
    return Evaluation(
        results={"accuracy": top1, "top5_accuracy": top5, "evaluated_images": images},
        accuracy={"top-1": top1, "top-5": top5},
        sentence=f"top-1 {top1:.4f}, top-5 {top5:.4f} of {images:,} images",
    )
