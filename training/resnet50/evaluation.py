"""The accuracy on the validation set: every image once."""

from collections.abc import Iterable
from dataclasses import dataclass

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from training.imagenet.image_decoding import to_float
from training.imagenet.image_work import Batch
from training.runtime import watchdog
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


def make_evaluation_step(model: tf.keras.Model) -> tf.types.experimental.GenericFunction:
    """Compile a step: (images, labels, flips, weights) to the numbers [counted, right, right among five]."""

    @tf.function(autograph=False)
    def evaluation_step(images: tf.Tensor, labels: tf.Tensor, flips: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
        logits = model(to_float(images, flips, model.compute_dtype), training=False)
        guesses = tf.math.top_k(logits, min(5, logits.shape[-1])).indices
        hits = (guesses == labels[:, tf.newaxis]) & (weights > 0)[:, tf.newaxis]
        return tf.stack([tf.math.count_nonzero(each) for each in (weights, hits[:, 0], hits)])

    return evaluation_step


def evaluate(evaluation_step: tf.types.experimental.GenericFunction, batches: Iterable[Batch]) -> Accuracy:
    """Evaluate the batches of all ranks, whose number may differ from rank to rank."""
    total = np.zeros(3, np.int64)
    for batch in batches:
        watchdog.progress()
        total += evaluation_step(*batch).numpy()
    # Horovod: whole numbers are added, so the result is the same for any number of ranks.
    images, right, among_five = hvd.allreduce(total, op=hvd.Sum, name="right").numpy().tolist()
    if not images:
        raise UserError("none of the validation images can be used; convert the data set again")
    return Accuracy(images=images, top1=right / images, top5=among_five / images)
