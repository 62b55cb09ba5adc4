"""The accuracy on the validation set: every image once."""

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from training.imagenet import split_accuracy
from training.imagenet.image_decoding import to_float
from training.imagenet.image_work import Batch
from training.imagenet.split_accuracy import Accuracy
from training.runtime import watchdog


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
    return split_accuracy.of_ranks(total)
