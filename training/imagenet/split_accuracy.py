"""The accuracy on the validation images: every image once."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from training.runtime import ranks
from training.runtime.errors import UserError
from training.runtime.task import Evaluation


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """Of a whole validation set."""

    images: int
    """Images that were evaluated."""
    top1: float
    """Share whose first guess is right."""
    top5: float
    """Share with the right label among the first five guesses."""

    def evaluation(self) -> Evaluation:
        """Return it for the loop."""
        return Evaluation(
            results={"accuracy": self.top1, "top5_accuracy": self.top5, "evaluated_images": self.images},
            accuracy={"top-1": self.top1, "top-5": self.top5},
            sentence=f"top-1 {self.top1:.4f}, top-5 {self.top5:.4f} of {self.images:,} images",
        )


def of_ranks(counts: NDArray[Any]) -> Accuracy:
    """Return the accuracy over all ranks; every rank must call it.

    Args:
        counts: This rank's images, those whose first guess is right, and those with the right label among the first
            five guesses: int64.
    """
    # Whole numbers are added, so the result is the same for any number of ranks.
    images, right, among_five = ranks.current().rows(counts, "right").sum(axis=0).tolist()
    if not images:
        raise UserError("none of the validation images can be used; convert the data set again")
    return Accuracy(images=images, top1=right / images, top5=among_five / images)
