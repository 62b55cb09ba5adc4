"""The data of a `fit`, from the position of a run to the end of its epoch."""

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..records import epoch_order
from ..runtime import ranks
from ..runtime.errors import UserError
from ..runtime.position import Position
from . import random_states
from .digests import digest

#: Reads a number: a nested tuple of arrays.
Read = Callable[[NDArray[Any], int], Any]


class Source(Protocol):
    """The data of a `fit`.

    Attributes:
        samples: Samples of an epoch, over all ranks.
        batch_size: Samples per step and rank.
    """

    samples: int
    batch_size: int

    def steps_left(self, position: Position) -> int:
        """Return the steps from a position to the end of its epoch."""

    def dataset(self, position: Callable[[], Position], *, endless: bool) -> tf.data.Dataset:
        """Return the batches from the position at the moment when the first is read.

        Args:
            position: Returns the position of the run.
            endless: Whether the epochs after it follow; otherwise it ends with the epoch.
        """

    def example(self) -> Any:
        """Return a batch, from which the model learns the shapes of its variables."""

    def fingerprint(self) -> str:
        """Return a number that changes where the data do, as far as a few samples show it."""

    def hidden(self) -> list[str]:
        """Return the operations of TensorFlow's whose random state cannot be saved."""


class NumberedSource:
    """Samples with numbers: their order is that of the run's seed, and a restart reads none that was trained."""

    def __init__(self, read: Read, *, samples: int, batch_size: int, seed: int, in_batches: bool = False) -> None:
        """Read nothing yet.

        Args:
            read: Returns the batch of an array of numbers, in an epoch.
            samples: Samples of an epoch, over all ranks.
            batch_size: Samples per step and rank.
            seed: Seed of the order.
            in_batches: Whether each "sample" is a batch already, perhaps of various sizes.

        Raises:
            UserError: The samples do not fill a step.
        """
        self.samples, self.batch_size = samples, batch_size
        self._read, self._seed, self._in_batches = read, seed, in_batches
        _check_steps(samples, batch_size)

    def steps_left(self, position: Position) -> int:
        """Return the steps from a position to the end of its epoch."""
        return len(self._rows(position))

    def dataset(self, position: Callable[[], Position], *, endless: bool) -> tf.data.Dataset:
        """Return the batches from the position at the moment when the first is read."""

        def batches() -> Iterator[Any]:
            at = position()
            while True:
                for row in self._rows(at):
                    yield self._read(row, at.epoch)
                if not endless:
                    return
                at = at.after_epoch()

        signature = tf.nest.map_structure(self._spec, self.example())
        return tf.data.Dataset.from_generator(batches, output_signature=signature).prefetch(tf.data.AUTOTUNE)

    def example(self) -> Any:
        """Return a batch, from which the model learns the shapes of its variables."""
        return self._read(np.arange(self.batch_size) % self.samples, 0)

    def fingerprint(self) -> str:
        """Return a number that changes where the first samples do, or one in the middle or the last."""
        places = np.array([0, self.samples // 2, self.samples - 1])
        return digest([self._read(numbers, 0) for numbers in (places[:, np.newaxis] if self._in_batches else [places])])

    def hidden(self) -> list[str]:
        """Return no operations of TensorFlow's: there are none."""
        return []

    def _rows(self, position: Position) -> NDArray[Any]:
        size = ranks.size()
        finished, first = epoch_order.resume(position.segments, size, self.batch_size)
        order = epoch_order.training(
            self.samples,
            finished,
            batch_size=self.batch_size,
            rank=ranks.rank(),
            size=size,
            seed=self._seed,
            epoch=position.epoch,
        )
        return order.numbers[first:]

    def _spec(self, array: NDArray[Any]) -> tf.TensorSpec:
        # A step of a constant shape is traced, and compiled, once.
        shape = (None, *array.shape[1:]) if self._in_batches else array.shape
        return tf.TensorSpec(shape, tf.as_dtype(array.dtype))


class DatasetSource:
    """A data set of TensorFlow's for each epoch, with a way to skip what was trained."""

    def __init__(self, make: Callable[..., tf.data.Dataset], *, samples: int, batch_size: int) -> None:
        """Read nothing yet.

        Args:
            make: Takes the number of an epoch, a tensor, and a function that takes the data set of all samples and
                returns that of the samples which this rank has still to train; returns the batches.
            samples: Samples of an epoch, over all ranks.
            batch_size: Samples per step and rank.

        Raises:
            UserError: The samples do not fill a step.
        """
        if not callable(make):
            raise UserError(
                f"'make' is {type(make).__name__}, which is no function; give one that takes an epoch and 'own', and "
                "returns the batches of that epoch"
            )
        self.samples, self.batch_size, self._make = samples, batch_size, make
        _check_steps(samples, batch_size)

    def steps_left(self, position: Position) -> int:
        """Return the steps from a position to the end of its epoch."""
        return (self.samples - position.images) // (self.batch_size * ranks.size())

    def dataset(self, position: Callable[[], Position], *, endless: bool) -> tf.data.Dataset:
        """Return the batches from the position at the moment when the first is read."""

        def positions() -> Iterator[tuple[int, int, int]]:
            at = position()
            yield at.epoch, at.images, self.steps_left(at)
            while endless:
                at = at.after_epoch()
                yield at.epoch, 0, self.steps_left(at)

        number = tf.TensorSpec((), tf.int64)
        each = tf.data.Dataset.from_generator(positions, output_signature=(number, number, number))
        return each.flat_map(self._epoch).prefetch(tf.data.AUTOTUNE)

    def example(self) -> Any:
        """Return a batch, from which the model learns the shapes of its variables."""
        first = next(iter(self._whole().take(1)), None)
        if first is None:
            raise UserError("the data set of dataset() is empty; return the batches of the epoch")
        size = len(tf.nest.flatten(first)[0])
        if size != self.batch_size:
            given = f"'batch_size' is {self.batch_size}, but the first batch of the data set has {size}"
            raise UserError(f"{given}; give the number that it gives batch()")
        return first

    def fingerprint(self) -> str:
        """Return a number that changes where the first batch of the first epoch does."""
        return digest(self.example())

    def hidden(self) -> list[str]:
        """Return the operations of the data set whose random state cannot be saved."""
        serialized = self._whole()._as_serialized_graph()
        return random_states.hidden(tf.compat.v1.GraphDef.FromString(serialized.numpy()))

    def _whole(self) -> tf.data.Dataset:
        """Return the batches of the first epoch as if this rank were alone: the same on every rank."""
        asked = []

        def own(samples: tf.data.Dataset) -> tf.data.Dataset:
            asked.append(samples)
            return samples

        batches = self._make(tf.constant(0, tf.int64), own)
        if not asked:
            raise UserError(
                "the function given to dataset() has not called its second parameter, so that every rank would train "
                "all samples, and from the first again after a restart; give it the samples of the epoch, and make the "
                "batches of what it returns"
            )
        return batches

    def _epoch(self, epoch: tf.Tensor, trained: tf.Tensor, steps: tf.Tensor) -> tf.data.Dataset:
        def own(samples: tf.data.Dataset) -> tf.data.Dataset:
            return samples.skip(trained).shard(ranks.size(), ranks.rank())

        return self._make(epoch, own).take(steps)


def of(
    data: tuple[Any, Any, Any], *, batch_size: int | None, samples: int | None, seed: int, workers: int
) -> NumberedSource:
    """Return the source of `ResumeCallback.batches`, by the kind of its data.

    Raises:
        UserError: The data have no numbers, or do not fill a step.
    """
    x, *rest = data
    is_alone = all(part is None for part in rest)
    if is_alone and _has_items(x) and batch_size is None:
        return NumberedSource(_of_batches(x, seed=seed), samples=len(x), batch_size=1, seed=seed, in_batches=True)
    if isinstance(x, tf.data.Dataset | Iterator):
        raise UserError(
            f"the data are {type(x).__name__}, which can only be read from its beginning; give resume.dataset(make, "
            "samples=…, batch_size=…) with a function that makes the data set, or give batches() a function from a "
            "number to a sample"
        )
    if batch_size is None:
        raise UserError(
            f"'batch_size' is None, and the data are {type(x).__name__}; give the samples per step and rank"
        )
    if is_alone and _has_items(x):
        read, count = _of_function(x.__getitem__, seed=seed, workers=workers), len(x)
    elif is_alone and callable(x):
        if samples is None:
            raise UserError("'samples' is None, and the data are a function, which has no length; give its samples")
        read, count = _of_function(x, seed=seed, workers=workers), samples
    else:
        read, count = _of_arrays(tuple(part for part in data if part is not None))
    return NumberedSource(read, samples=count, batch_size=batch_size, seed=seed)


def _has_items(x: Any) -> bool:
    """Return whether it is an object of a user's own with numbered items, and no array."""
    is_known = isinstance(x, list | tuple | dict | tf.Tensor) or hasattr(x, "shape")
    return not is_known and hasattr(x, "__getitem__") and hasattr(x, "__len__")


def _of_arrays(arrays: Any) -> tuple[Read, int]:
    """Return how to read a nested structure of arrays, and the number of its samples.

    Raises:
        UserError: The arrays are not of one length.
    """
    arrays = tf.nest.map_structure(_as_keras, _tuples(arrays))
    lengths = [len(array) for array in tf.nest.flatten(arrays)]
    if len(set(lengths)) != 1:
        raise UserError(f"the arrays have {' and '.join(map(str, lengths))} samples; give arrays of one length")
    return lambda numbers, _: tf.nest.map_structure(lambda array: array[numbers], arrays), lengths[0]


def _of_function(sample: Callable[..., Any], *, seed: int, workers: int) -> Read:
    """Return how to read batches of a function from a number, or a number and a generator of NumPy's, to a sample.

    Args:
        sample: The function.
        seed: Seed of the generators: each sample of each epoch has its own, so that what is drawn does not depend on
            how far a thread reads ahead.
        workers: Threads.
    """
    read_one = _drawing(sample, seed)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="samples") if workers > 1 else None

    def read(numbers: NDArray[Any], epoch: int) -> Any:
        each = (pool.map if pool else map)(lambda number: read_one(int(number), epoch), numbers)
        return tf.nest.map_structure(lambda *parts: _as_keras(np.stack(parts)), *each)

    return read


def _of_batches(batches: Any, *, seed: int) -> Read:
    """Return how to read an object whose items are batches, such as a `keras.utils.Sequence`."""
    read_one = _drawing(batches.__getitem__, seed)
    return lambda numbers, epoch: tf.nest.map_structure(_as_keras, read_one(int(numbers[0]), epoch))


def _drawing(sample: Callable[..., Any], seed: int) -> Callable[[int, int], Any]:
    """Return a function from a number and an epoch to a sample, with a generator of the two if it takes one."""
    draws = _takes_random(sample)

    def read_one(number: int, epoch: int) -> Any:
        given = (number, np.random.default_rng([seed, epoch, number])) if draws else (number,)
        return _tuples(sample(*given))

    return read_one


def _check_steps(samples: int, batch_size: int) -> None:
    size = ranks.size()
    if samples < batch_size * size:
        fits = f"give 'batch_size' {samples // size} or less" if samples >= size else f"start {samples} ranks or fewer"
        raise UserError(
            f"'batch_size' is {batch_size}, and a step of {size} ranks takes {batch_size * size:,} samples, but there "
            f"are {samples:,}; {fits}"
        )


def _takes_random(sample: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(sample).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.kind in positional and each.default is inspect.Parameter.empty]
    return len(needed) > 1


def _tuples(nested: Any) -> Any:
    """Return a list of arrays as a tuple, and one of numbers as an array: a data set takes both for one tensor."""
    if isinstance(nested, list) and not any(np.shape(each) for each in nested[:1] if hasattr(each, "shape")):
        return np.asarray(nested)
    if isinstance(nested, list | tuple):
        return tuple(_tuples(each) for each in nested)
    if isinstance(nested, dict):
        return {name: _tuples(each) for name, each in nested.items()}
    return nested


def _as_keras(array: Any) -> NDArray[Any]:
    """Return an array with Keras' type of numbers, as `fit` makes of arrays."""
    found = np.asarray(array)
    if np.issubdtype(found.dtype, np.floating):
        return found.astype(tf.keras.backend.floatx(), copy=False)
    return found
