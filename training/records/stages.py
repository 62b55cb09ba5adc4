"""The stages of an epoch's batches in tf.data: read, parse, decode, batch, copy to the device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.records.numbered_records import Records

MakeImage = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Turns a JPEG (string) and its record's number (int64) into pixels (uint8) of the network's size."""

# Records that one thread reads in one call: they share the cost of Python, and their reads overlap.
_CHUNK = 64
# Threads that read; they mostly wait. Each is a chunk ahead, about 7 MB of ImageNet.
_READERS = 4
# Batches that are ready before their step; 38 MB each with 256 images of 224 x 224.
_READY = 2


class Batch(NamedTuple):
    """A step's images, on the device if one is given."""

    images: tf.Tensor
    """uint8 (batch x size x size x 3), for `image_decoding.to_float`."""
    labels: tf.Tensor
    """int32 (batch), from 0."""
    flips: tf.Tensor
    """Whether to mirror, bool (batch)."""
    weights: tf.Tensor
    """float32 (batch): 0 for an image that only fills the batch."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings that all epochs share."""

    image_size: int
    """Height and width, pixels."""
    classes: int
    """The largest label of a record; the smallest is 1."""
    threads: int
    """Threads that decode."""
    min_crop_area: float
    """The smallest crop of a training image, as a part of its area."""
    seed: int = 0
    """Seed of crops and flips."""
    mirror: bool = True
    """Whether half of the training images are mirrored."""
    device: str | None = None
    """Device of the batches, such as "/GPU:0". Default: the machine's memory."""
    skip_damaged: bool = False
    """Whether another record replaces a damaged one. Default: a damaged record ends the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """One pass over a rank's share."""

    numbers: NDArray[Any]
    """Record numbers (steps x batch size)."""
    weights: NDArray[Any]
    """The values of `Batch.weights`, of the same shape."""
    flips: NDArray[Any]
    """Whether to mirror, for every record of the split."""
    make_image: MakeImage


class Source:
    """The source of the reading stage.

    TensorFlow keeps the function of that stage until the process ends, so a finished pass releases its arrays and its
    records here.
    """

    def __init__(self, records: Records, todo: Pass) -> None:
        self._held: tuple[Records, Pass] | None = (records, todo)

    def read(self, row: int, start: int, count: int) -> tuple[NDArray[Any], ...]:
        """Return the records of a part of a step."""
        if self._held is None:
            raise RuntimeError("the pass has ended")
        records, todo = self._held
        numbers = todo.numbers[row, start : start + count]
        contents = np.array(records.read(numbers.tolist()), np.object_)
        return contents, numbers, todo.flips[numbers], todo.weights[row, start : start + count]

    def close(self) -> None:
        """Release the arrays and the records."""
        self._held = None


def batches(
    records: Records, todo: Pass, settings: Settings, start_step: int
) -> tuple[tf.data.Dataset, Callable[[], None]]:
    """Return the dataset of a pass's batches from a step on; an error concerns only one step.

    Returns:
        The dataset, and a function that releases it.
    """
    steps, batch_size = todo.numbers.shape
    chunks = -(-batch_size // _CHUNK)
    source = Source(records, todo)
    dataset = tf.data.Dataset.range(start_step * chunks, steps * chunks)
    read_chunk = _chunk_reader(source, records, settings.classes, chunks)
    dataset = dataset.map(read_chunk, num_parallel_calls=_READERS).unbatch()

    def decode(jpeg: tf.Tensor, number: tf.Tensor, label: tf.Tensor, flip: tf.Tensor, weight: tf.Tensor) -> Batch:
        return Batch(todo.make_image(jpeg, number), label, flip, weight)

    dataset = dataset.map(decode, num_parallel_calls=settings.threads)
    dataset = dataset.batch(batch_size, drop_remainder=True).prefetch(_READY)
    if settings.device:
        dataset = dataset.apply(tf.data.experimental.prefetch_to_device(settings.device, _READY))
    return dataset.with_options(_options(settings.threads)), source.close


def _chunk_reader(
    source: Source, records: Records, classes: int, chunks: int
) -> Callable[[tf.Tensor], tuple[tf.Tensor, ...]]:
    """Return the stage that reads a part of one batch, so that an error concerns only that batch."""

    def read(index: np.int64) -> tuple[NDArray[Any], ...]:
        row, chunk = divmod(int(index), chunks)
        return source.read(row, chunk * _CHUNK, _CHUNK)

    def stage(index: tf.Tensor) -> tuple[tf.Tensor, ...]:
        types = (tf.string, tf.int64, tf.bool, tf.float32)
        # Not stateful: the result only depends on the index. TensorFlow's deterministic mode would call a stateful
        # function in one thread.
        read_values = tf.numpy_function(read, [index], types, stateful=False)
        contents, numbers, flips, weights = (tf.ensure_shape(value, [None]) for value in read_values)
        jpegs, labels = records.parse(contents, numbers)
        with tf.control_dependencies([check_labels(labels, classes)]):
            return jpegs, numbers, tf.cast(labels - 1, tf.int32), flips, weights

    return stage


def check_labels(labels: tf.Tensor, classes: int) -> tf.Operation:
    """Return an operation that fails for labels outside 1 to the number of classes."""
    return tf.debugging.Assert(tf.reduce_all((labels >= 1) & (labels <= classes)), [labels])


def _options(threads: int) -> tf.data.Options:
    options = tf.data.Options()
    options.deterministic = True
    # Private threads: in TensorFlow's pool, which all operations share, decoding would delay the training step.
    options.threading.private_threadpool_size = threads + _READERS
    options.threading.max_intra_op_parallelism = 1
    # Autotune would use all cores of the machine, but this rank has a share of them.
    options.autotune.enabled = False
    # Horovod: the order has already dealt out the records.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return options
