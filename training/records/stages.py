"""The stages of an epoch's batches in tf.data: read, parse, decode, batch, hand over to the device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from training.imagenet.augmentation import MIN_CROP_AREA
from training.records.numbered_records import Records

MakeImage = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Turns a JPEG (string) and its record's number (int64) into bytes of the network's size."""

# Records that one thread reads in one call: so many share what Python costs, and so many reads are on their way.
_CHUNK = 64
# Threads that read; they wait more than they work. Each is a chunk ahead, about 7 MB of ImageNet.
_READERS = 4
# Batches that wait for the step before to end; 38 MB each with 256 images of 224 x 224.
_READY = 2


class Batch(NamedTuple):
    """A step's images, on the device if one is given."""

    images: tf.Tensor
    """uint8 (batch x size x size x 3), for `augmentation.to_float`."""
    labels: tf.Tensor
    """int32 (batch), from 0."""
    flips: tf.Tensor
    """Whether to mirror, bool (batch)."""
    weights: tf.Tensor
    """float32 (batch): 0 for an image that only fills the batch up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What is the same for every epoch."""

    image_size: int
    """Height and width, pixels."""
    classes: int
    """The largest label of a record; the smallest is 1."""
    threads: int
    """That decode."""
    seed: int = 0
    """Of crops and flips."""
    min_crop_area: float = MIN_CROP_AREA
    """Of a training image, as a part of it."""
    mirror: bool = True
    """Whether half of the training images are mirrored."""
    device: str | None = None
    """Where the batches go, such as "/GPU:0"; by default they stay in the machine's memory."""
    skip_damaged: bool = False
    """Whether another record takes the place of a bad one, which by default ends the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """One pass over a rank's share."""

    numbers: np.ndarray
    """Record numbers (steps x batch size)."""
    weights: np.ndarray
    """What `Batch.weights` will say, of the same shape."""
    flips: np.ndarray
    """Whether to mirror, for every record of the split."""
    make_image: MakeImage


class Source:
    """What the reading stage reads from.

    TensorFlow keeps the function of that stage for as long as the process lives, so a pass that is over lets go of its
    arrays and its records here.
    """

    def __init__(self, records: Records, todo: Pass) -> None:
        self._held: tuple[Records, Pass] | None = (records, todo)

    def read(self, row: int, start: int, count: int) -> tuple[np.ndarray, ...]:
        """Reads so many images of a step."""
        if self._held is None:
            raise RuntimeError("the pass is over")
        records, todo = self._held
        numbers = todo.numbers[row, start : start + count]
        contents = np.array(records.read(numbers), object)
        return contents, numbers, todo.flips[numbers], todo.weights[row, start : start + count]

    def close(self) -> None:
        """Lets go."""
        self._held = None


def batches(
    records: Records, todo: Pass, settings: Settings, start_step: int
) -> tuple[tf.data.Dataset, Callable[[], None]]:
    """Builds the data set of a pass's batches from a step on; every step of it fails or succeeds by itself.

    Returns:
        The data set, and what is to be called when no more of it is wanted.
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


def _chunk_reader(source: Source, records: Records, classes: int, chunks: int) -> Callable[[tf.Tensor], tuple]:
    """Makes the stage that reads part of a batch; no part reaches into another batch, so that an error stays in one."""

    def read(index: np.int64) -> tuple[np.ndarray, ...]:
        return source.read(index // chunks, index % chunks * _CHUNK, _CHUNK)

    def stage(index: tf.Tensor) -> tuple[tf.Tensor, ...]:
        types = (tf.string, tf.int64, tf.bool, tf.float32)
        # Not stateful: what it returns depends on the index alone. TensorFlow's deterministic mode would call it in one
        # thread only.
        read_values = tf.numpy_function(read, [index], types, stateful=False)
        contents, numbers, flips, weights = (tf.ensure_shape(value, [None]) for value in read_values)
        jpegs, labels = records.parse(contents, numbers)
        with tf.control_dependencies([check_labels(labels, classes)]):
            return jpegs, numbers, tf.cast(labels - 1, tf.int32), flips, weights

    return stage


def check_labels(labels: tf.Tensor, classes: int) -> tf.Operation:
    """Fails if one is not from 1 to the number of classes."""
    return tf.debugging.Assert(tf.reduce_all((labels >= 1) & (labels <= classes)), [labels])


def _options(threads: int) -> tf.data.Options:
    options = tf.data.Options()
    options.deterministic = True
    # Its own threads: in TensorFlow's pool, which all operations share, the decoding would hold up the training step.
    options.threading.private_threadpool_size = threads + _READERS
    options.threading.max_intra_op_parallelism = 1
    # It would see the whole machine's cores, and this rank has a share of them.
    options.autotune.enabled = False
    # Horovod: the order has dealt out the records already.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return options
