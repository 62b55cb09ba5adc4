"""The batches of a rank: records read in a given order, decoded by threads of its own, and on the device in time.

On the CPU an image costs a fused decode-and-crop and a resize, and leaves as bytes: `make bench-input` measures it.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import tensorflow as tf

from training.imagenet import augmentation
from training.records import stages
from training.records.damaged_records import find_damaged
from training.records.epoch_order import Order
from training.records.memory import keep_freed_memory
from training.records.numbered_records import Records
from training.records.stages import Batch, Pass, Settings
from training.records.tfrecords import DamagedRecordError
from training.runtime.devices import share_of_cores
from training.runtime.errors import UserError

_THREADS = "TRAINING_DATA_THREADS"


class InputPipeline:
    """Reads, decodes and hands over the batches of a split."""

    def __init__(self, records: Records, settings: Settings) -> None:
        self._records, self._settings = records, settings
        self.skipped_records: set[int] = set()
        """Numbers of the records in whose place another was taken, or that were not counted, since the start."""
        keep_freed_memory()

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        """Yields random crops, from a step on; what is before it is not read.

        Where bad records are skipped, the one before in the order takes their place: every step has its whole batch,
        and a resumed run the same ones.

        Raises:
            UserError: A record is bad and not to be skipped, or a file cannot be read. On this rank alone.
        """
        settings = self._settings
        key = augmentation.crop_key(settings.seed, epoch)

        def make_image(jpeg: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
            return augmentation.training_image(jpeg, number, key, settings.image_size, settings.min_crop_area)

        flips = augmentation.flips(len(self._records), settings.seed, epoch) & settings.mirror
        todo = Pass(numbers=order.numbers, weights=order.weights, flips=flips, make_image=make_image)
        return self._batches(todo, start_step, weight_of_replaced=1)

    def evaluation(self, order: Order) -> Iterator[Batch]:
        """Yields the middles of all images; a bad record that is skipped has a weight of 0.

        Raises:
            UserError: As `training` does.
        """

        def make_image(jpeg: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
            return augmentation.evaluation_image(jpeg, self._settings.image_size)

        flips = np.zeros(len(self._records), bool)
        todo = Pass(numbers=order.numbers, weights=order.weights, flips=flips, make_image=make_image)
        return self._batches(todo, 0, weight_of_replaced=0)

    def _batches(self, todo: Pass, step: int, weight_of_replaced: int) -> Iterator[Batch]:
        todo = replace(todo, numbers=todo.numbers.copy(), weights=todo.weights.copy())
        # Of this pass only: whether a damaged image decodes may depend on the crop. So an epoch's batches do not depend
        # on whether the run saw the epoch before.
        bad: set[int] = set()
        tried_again = -1
        while step < len(todo.numbers):
            batches, close = stages.batches(self._records, todo, self._settings, step)
            try:
                for batch in batches:
                    yield batch
                    step += 1
            # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
            except (tf.errors.OpError, UnicodeDecodeError):
                faults = self._find_damaged(todo, todo.numbers[step])
                # What cannot be seen any more, such as a read that failed once, gets a second chance.
                if not faults and tried_again == step:
                    raise
                tried_again = step
                if faults and not self._settings.skip_damaged:
                    raise next(iter(faults.values())) from None
                bad |= set(faults)
                self._replace(todo, step, bad, weight_of_replaced)
            finally:
                close()

    def _find_damaged(self, todo: Pass, numbers: Sequence[int]) -> dict[int, DamagedRecordError]:
        """Returns the errors of the bad ones; where they are skipped, warns about each once."""
        faults = find_damaged(self._records, numbers, todo.make_image, self._settings.classes)
        if self._settings.skip_damaged:
            for number, fault in faults.items():
                if number not in self.skipped_records:
                    print(f"warning: skipped: {fault.where} {fault.reason}", file=sys.stderr, flush=True)
            self.skipped_records |= faults.keys()
        return faults

    def _replace(self, todo: Pass, step: int, bad: set[int], weight: int) -> None:
        """Puts in the place of each bad record of a step the nearest good one before it."""
        order, weights = todo.numbers.reshape(-1), todo.weights.reshape(-1)
        batch_size = todo.numbers.shape[1]
        for place in range(step * batch_size, (step + 1) * batch_size):
            if int(order[place]) in bad:
                order[place] = self._good_before(todo, place, bad)
                weights[place] = min(weights[place], weight)

    def _good_before(self, todo: Pass, place: int, bad: set[int]) -> int:
        order = todo.numbers.reshape(-1)
        # The first of the epoch has the last before it.
        for number in (int(order[place - distance]) for distance in range(1, len(order))):
            # Tried, because a resumed run has not seen it.
            if number not in bad and not self._find_damaged(todo, [number]):
                return number
            bad.add(number)
        raise UserError("none of this rank's records can be used; convert the data set again, or look at '--classes'")


class SyntheticPipeline:
    """The same from memory: one batch of noise for every step, so that nothing but the network takes time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.skipped_records: set[int] = set()
        """Always empty."""

    def training(self, order: Order, epoch: int, start_step: int = 0) -> Iterator[Batch]:
        """Yields as many batches as the real one would."""
        return self._batches(order, start_step)

    def evaluation(self, order: Order) -> Iterator[Batch]:
        """Yields as many batches, with the same weights, as the real one would."""
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
    """Returns how many threads a rank decodes with: TRAINING_DATA_THREADS, or else its share of the cores.

    Args:
        local_size: Ranks on this machine, or in this pod.

    Raises:
        UserError: The environment variable is not a whole number above 0.
    """
    given = os.environ.get(_THREADS)
    if given is None:
        return share_of_cores(len(os.sched_getaffinity(0)), os.cpu_count() or 1, local_size)
    if not given.isdecimal() or int(given) < 1:
        raise UserError(f"the environment variable {_THREADS} is {given!r}; give a whole number, 1 or more")
    return int(given)
