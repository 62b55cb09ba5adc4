"""The batches of a rank: records read in a given order, decoded by the rank's threads, and on the device in time.

On the CPU an image costs a fused decode-and-crop and a resize, and its result is bytes: `make bench-input` measures it.
"""

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import tensorflow as tf

from training.imagenet import image_decoding
from training.records import stages
from training.records.epoch_order import Order
from training.records.find_damaged import find_damaged
from training.records.numbered_records import Records
from training.records.stages import Batch as Batch
from training.records.stages import Pass
from training.records.stages import Settings as Settings
from training.records.tfrecords import DamagedRecordError
from training.runtime.devices import share_of_cores
from training.runtime.errors import UserError

_THREADS = "TRAINING_DATA_THREADS"

# https://man7.org/linux/man-pages/man3/mallopt.3.html
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1
# The largest value that glibc accepts.
_LARGEST = 32 * 2**20


class InputPipeline:
    """Reads and decodes the batches of a split, and copies them to the device."""

    def __init__(self, records: Records, settings: Settings) -> None:
        self._records, self._settings = records, settings
        self.skipped_records: set[int] = set()
        """Numbers of the skipped records since the start: replaced in training, not counted in an evaluation."""
        keep_freed_memory()

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        """Yield batches of random crops from a step on, without reading the steps before it.

        The previous record in the order replaces a skipped record: every step has a complete batch, and a resumed run
        has the same batches.

        Raises:
            UserError: A record is damaged and must not be skipped, or a file cannot be read. On this rank only.
        """
        settings = self._settings
        key = image_decoding.crop_key(settings.seed, epoch)

        def make_image(jpeg: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
            return image_decoding.training_image(jpeg, number, key, settings.image_size, settings.min_crop_area)

        flips = image_decoding.flips(len(self._records), settings.seed, epoch) & settings.mirror
        todo = Pass(numbers=order.numbers, weights=order.weights, flips=flips, make_image=make_image)
        return self._batches(todo, start_step, weight_of_replaced=1)

    def evaluation(self, order: Order) -> Iterator[Batch]:
        """Yield the centres of all images; a skipped record has weight 0.

        Raises:
            UserError: As `training` does.
        """

        def make_image(jpeg: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
            return image_decoding.evaluation_image(jpeg, self._settings.image_size)

        flips = np.zeros(len(self._records), bool)
        todo = Pass(numbers=order.numbers, weights=order.weights, flips=flips, make_image=make_image)
        return self._batches(todo, 0, weight_of_replaced=0)

    def _batches(self, todo: Pass, step: int, weight_of_replaced: int) -> Iterator[Batch]:
        todo = replace(todo, numbers=todo.numbers.copy(), weights=todo.weights.copy())
        # Of this pass only: whether a damaged image decodes may depend on the crop. Thus an epoch's batches do not
        # depend on earlier epochs, which a resumed run has not read.
        damaged: set[int] = set()
        retried = -1
        while step < len(todo.numbers):
            batches, close = stages.batches(self._records, todo, self._settings, step)
            try:
                for batch in batches:
                    yield batch
                    step += 1
            # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
            except (tf.errors.OpError, UnicodeDecodeError):
                errors = self._find_damaged(todo, todo.numbers[step])
                # A step without a damaged record, such as after a read that failed once, is retried once.
                if not errors and retried == step:
                    raise
                retried = step
                if errors and not self._settings.skip_damaged:
                    raise next(iter(errors.values())) from None
                damaged |= set(errors)
                self._replace(todo, step, damaged, weight_of_replaced)
            finally:
                close()

    def _find_damaged(self, todo: Pass, numbers: Sequence[int]) -> dict[int, DamagedRecordError]:
        """Return the errors of the damaged records; if they are skipped, print one warning for each."""
        errors = find_damaged(self._records, numbers, todo.make_image, self._settings.classes)
        if self._settings.skip_damaged:
            for number, error in errors.items():
                if number not in self.skipped_records:
                    print(f"warning: skipped: {error.where} {error.reason}", file=sys.stderr, flush=True)
            self.skipped_records |= errors.keys()
        return errors

    def _replace(self, todo: Pass, step: int, damaged: set[int], weight: int) -> None:
        """Replace each damaged record of a step by the nearest undamaged one before it."""
        order, weights = todo.numbers.reshape(-1), todo.weights.reshape(-1)
        batch_size = todo.numbers.shape[1]
        for place in range(step * batch_size, (step + 1) * batch_size):
            if int(order[place]) in damaged:
                order[place] = self._undamaged_before(todo, place, damaged)
                weights[place] = min(weights[place], weight)

    def _undamaged_before(self, todo: Pass, place: int, damaged: set[int]) -> int:
        order = todo.numbers.reshape(-1)
        # Before the first record of the epoch is the last one.
        for number in (int(order[place - distance]) for distance in range(1, len(order))):
            # It is read here, because a resumed run has not read it yet.
            if number not in damaged and not self._find_damaged(todo, [number]):
                return number
            damaged.add(number)
        raise UserError("all records of this rank are damaged; convert the dataset again, or check '--classes'")


class SyntheticPipeline:
    """The same interface without files: one batch of noise for every step, so that only the network takes time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.skipped_records: set[int] = set()
        """Always empty."""

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        """Yield the number of batches that `InputPipeline` yields."""
        return self._batches(order, start_step)

    def evaluation(self, order: Order) -> Iterator[Batch]:
        """Yield the number of batches, with the weights, that `InputPipeline` yields."""
        return self._batches(order, 0)

    def _batches(self, order: Order, start_step: int) -> Iterator[Batch]:
        random, size = np.random.default_rng(self._settings.seed), self._settings.image_size
        count = order.numbers.shape[1]
        with tf.device(self._settings.device):
            images = tf.constant(random.integers(256, size=(count, size, size, 3), dtype=np.uint8))
            labels = tf.constant(random.integers(self._settings.classes, size=count, dtype=np.int32))
            flips = tf.zeros(count, tf.bool)
        for step in range(start_step, len(order)):
            yield Batch(images, labels, flips, tf.constant(order.weights[step]))


def data_threads(local_size: int) -> int:
    """Return the number of threads that decode: TRAINING_DATA_THREADS, or else the rank's share of the cores.

    Args:
        local_size: Ranks on this machine or in this pod.

    Raises:
        UserError: The environment variable is not a whole number above 0.
    """
    given = os.environ.get(_THREADS)
    if given is None:
        return share_of_cores(len(os.sched_getaffinity(0)), os.cpu_count() or 1, local_size)
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"the environment variable {_THREADS} is {given!r}; give a whole number, 1 or more")
    return int(given)


def keep_freed_memory() -> None:
    """Make the C library keep freed blocks of up to 32 MiB in this process.

    By default glibc returns memory to the kernel when about 100 KB at the end are free, and every page of the next JPEG
    is a page fault: half of the time that reading takes. With this setting the process keeps the most that it needed.
    """
    # Only glibc has this function.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _NEVER)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)
