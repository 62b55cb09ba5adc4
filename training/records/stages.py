"""The stages of an epoch's batches in tf.data: read, parse, make an element, batch, copy to the device."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

Columns = tuple[NDArray[Any], ...]
"""Values of several records: an array for each kind of value, with a row for each record."""

# Records that one thread reads in one call: they share the cost of Python, and their reads overlap.
_CHUNK = 64
# Threads that read; they mostly wait. Each is a chunk ahead, about 7 MB of ImageNet.
_READERS = 4
# Batches that are ready before their step; 38 MB each with 256 images of 224 x 224.
_READY = 2


def _nothing() -> None:
    """Release nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The functions that turn a record's number into an element of a batch.

    Only `read` is Python at run time; TensorFlow compiles the others.
    """

    read: Callable[[Sequence[int]], Columns]
    """Returns the columns of several records, such as their contents; several threads call it."""
    columns: tuple[tf.TensorSpec, ...]
    """Types and shapes of these columns; the first dimension is the records'."""
    parse: Callable[..., tuple[tf.Tensor, ...]]
    """Gets these columns and the numbers (int64) of several records; returns others, with a row for each record."""
    make: Callable[..., tuple[tf.Tensor, ...]]
    """Gets one record's values of `parse`, its number and its weight (float32); returns the element, a tuple."""
    padded_shapes: tuple[tf.TensorShape | Sequence[int | None], ...] | None = None
    """The batch's shape of each part of an element; None in a shape is the largest of the batch. Default: all elements
    have the same shapes."""
    release: Callable[[], None] = _nothing
    """Releases the memory of `make`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """One pass over a rank's share."""

    numbers: NDArray[Any]
    """Record numbers (steps x batch size)."""
    weights: NDArray[Any]
    """float32 of the same shape: 0 for an element that only fills the batch."""
    work: Work


class Released:
    """A function that can be released.

    TensorFlow keeps a Python function of a stage until the process ends, and with it all that the function holds.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function: Callable[..., Any] | None = function

    def __call__(self, *values: Any) -> Any:
        """Call the function."""
        if self._function is None:
            raise RuntimeError("the pass has ended")
        return self._function(*values)

    def release(self) -> None:
        """Release the function and the objects that it refers to."""
        self._function = None


def batches(
    todo: Pass, *, threads: int, device: str | None = None, start_step: int = 0
) -> tuple[tf.data.Dataset, Callable[[], None]]:
    """Return the dataset of a pass's batches from a step on; an error concerns only one step.

    Args:
        todo: The pass.
        threads: Threads that make elements.
        device: Device of the batches, such as "/GPU:0". Default: the machine's memory.
        start_step: The first step.

    Returns:
        The dataset, and a function that releases its resources; `Work.release` is the caller's.
    """
    steps, batch_size = todo.numbers.shape
    chunks = -(-batch_size // _CHUNK)
    read = Released(_reader(todo, chunks))
    dataset = tf.data.Dataset.range(start_step * chunks, steps * chunks)
    # AutoGraph would rewrite the functions at every start and epoch, which takes seconds, and nothing in them needs it.
    parse, make = map(tf.autograph.experimental.do_not_convert, (_chunk_stage(read, todo.work), todo.work.make))
    dataset = dataset.map(parse, num_parallel_calls=_READERS).unbatch().map(make, num_parallel_calls=threads)
    if todo.work.padded_shapes is None:
        dataset = dataset.batch(batch_size, drop_remainder=True)
    else:
        shapes = _like(dataset.element_spec, todo.work.padded_shapes)
        dataset = dataset.padded_batch(batch_size, shapes, drop_remainder=True)
    dataset = dataset.prefetch(_READY).with_options(_options(threads))
    if device:
        # After the options: the copy iterates over the stages above with a second iterator, which sees only the options
        # that they have by then.
        dataset = dataset.apply(tf.data.experimental.prefetch_to_device(device, _READY))
    return dataset, read.release


def _reader(todo: Pass, chunks: int) -> Callable[[np.int64], Columns]:
    """Return the function that reads a part of one batch, so that an error concerns only that batch."""

    def read(index: np.int64) -> Columns:
        row, chunk = divmod(int(index), chunks)
        part = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
        numbers = todo.numbers[row, part]
        return *todo.work.read(numbers.tolist()), numbers, todo.weights[row, part]

    return read


def _chunk_stage(read: Released, work: Work) -> Callable[[tf.Tensor], tuple[tf.Tensor, ...]]:
    """Return the stage that reads and parses a part of one batch."""

    def stage(index: tf.Tensor) -> tuple[tf.Tensor, ...]:
        specs = (*work.columns, tf.TensorSpec([None], tf.int64), tf.TensorSpec([None], tf.float32))
        # Not stateful: the result only depends on the index. TensorFlow's deterministic mode would call a stateful
        # function in one thread.
        values = tf.numpy_function(read, [index], [spec.dtype for spec in specs], stateful=False)
        # TensorFlow does not know which shapes Python returns.
        shaped = [tf.ensure_shape(value, spec.shape) for value, spec in zip(values, specs, strict=True)]
        *columns, numbers, weights = shaped
        return *work.parse(*columns, numbers), numbers, weights

    return stage


def _like(element: tuple[Any, ...], shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the shapes as the element's own kind of tuple."""
    return type(element)(*shapes) if hasattr(element, "_fields") else shapes


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
