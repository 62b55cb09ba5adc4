"""The batches of a rank without its damaged records: others take their places, so that every step is complete."""

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..runtime.errors import UserError
from . import stages
from .stages import Pass
from .tfrecords import DamagedRecordError

# https://man7.org/linux/man-pages/man3/mallopt.3.html
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1
# The largest value that glibc accepts.
_LARGEST = 32 * 2**20

Check = Callable[[int], object]
"""Processes a record alone, as the pipeline does, and raises its DamagedRecordError if it is damaged."""

Finish = Callable[[Iterable[Any]], Iterator[Any]]
"""Turns the batches of `stages` into others, each in its turn; it raises a TensorFlow error for one that it cannot."""


class UndamagedBatches:
    """Makes batches, and reports or replaces damaged records."""

    def __init__(
        self, *, threads: int, device: str | None = None, skip_damaged: bool = False, finish: Finish = iter
    ) -> None:
        """Set the values that all passes share.

        Args:
            threads: Threads that make elements.
            device: Device of the batches. Default: the machine's memory.
            skip_damaged: Whether another record replaces a damaged one. Default: a damaged record ends the run.
            finish: Stage behind those of tf.data. Default: none.
        """
        self._threads, self._device, self._skip, self._finish = threads, device, skip_damaged, finish
        self.skipped_records: set[int] = set()
        """Numbers of the skipped records since the start."""
        keep_freed_memory()

    def batches(
        self,
        todo: Pass,
        check: Check,
        *,
        start_step: int = 0,
        weight_of_replaced: int = 1,
        buckets: NDArray[Any] | None = None,
    ) -> Iterator[Any]:
        """Yield the batches of a pass from a step on.

        The previous record in the order replaces a skipped record: a resumed run has the same batches.

        Args:
            todo: The pass.
            check: The check of each record of a batch that failed: tf.data reports the error, but not the record.
            start_step: The first step.
            weight_of_replaced: The largest weight of a replaced record, 0 in an evaluation.
            buckets: The bucket of each record of the split; one of the same bucket replaces a record. Default: any.

        Raises:
            UserError: A record is damaged and must not be skipped, or a file cannot be read. On this rank only.
        """
        todo, step = replace(todo, numbers=todo.numbers.copy(), weights=todo.weights.copy()), start_step
        # Only for this pass: whether a damaged image decodes may depend on the crop. Thus an epoch's batches do not
        # depend on earlier epochs, which a resumed run has not read.
        damaged: set[int] = set()
        retried = -1
        try:
            while step < len(todo.numbers):
                made, close = stages.batches(todo, threads=self._threads, device=self._device, start_step=step)
                try:
                    for batch in self._finish(made):
                        yield batch
                        step += 1
                # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
                except (tf.errors.OpError, UnicodeDecodeError):
                    errors = self._damaged(todo.numbers[step].tolist(), check)
                    # A step without a damaged record, such as after a read that failed once, is retried once.
                    if not errors and retried == step:
                        raise
                    retried = step
                    if errors and not self._skip:
                        raise next(iter(errors.values())) from None
                    damaged |= set(errors)
                    self._replace(todo, step, damaged, check, weight_of_replaced, buckets)
                finally:
                    close()
        finally:
            todo.work.release()

    def _damaged(self, numbers: Iterable[int], check: Check) -> dict[int, DamagedRecordError]:
        """Return the errors of the damaged records among some; if they are skipped, print one warning for each."""
        errors = {}
        for number in dict.fromkeys(numbers):
            try:
                check(number)
            except DamagedRecordError as damage:
                errors[number] = damage
        if self._skip:
            for number, error in errors.items():
                if number not in self.skipped_records:
                    print(f"warning: skipped: {error.where} {error.reason}", file=sys.stderr, flush=True)
            # In place: the pipeline has the same set.
            self.skipped_records.update(errors)
        return errors

    def _replace(
        self,
        todo: Pass,
        step: int,
        damaged: set[int],
        check: Check,
        weight: int,
        buckets: NDArray[Any] | None,
    ) -> None:
        """Replace each damaged record of a step by the nearest undamaged one before it."""
        order, weights = todo.numbers.reshape(-1), todo.weights.reshape(-1)
        batch_size = todo.numbers.shape[1]
        for place in range(step * batch_size, (step + 1) * batch_size):
            if int(order[place]) in damaged:
                candidates = _before(order, place, buckets)
                order[place] = self._first_undamaged(candidates, damaged, check)
                weights[place] = min(weights[place], weight)

    def _first_undamaged(self, candidates: Iterable[int], damaged: set[int], check: Check) -> int:
        for number in candidates:
            # It is read here, because a resumed run has not read it yet.
            if number not in damaged and not self._damaged([number], check):
                return number
            damaged.add(number)
        raise UserError("all records of this rank are damaged; convert the dataset again")


def _before(order: NDArray[Any], place: int, buckets: NDArray[Any] | None) -> Iterator[int]:
    """Yield the records that may replace one, the nearest before it first."""
    # Before the first record of the epoch is the last one.
    before = (int(order[place - distance]) for distance in range(1, len(order)))
    if buckets is None:
        yield from before
        return
    bucket = buckets[order[place]]
    yield from (number for number in before if buckets[number] == bucket)
    # A rank may have none of a bucket that has few records.
    yield from (int(number) for number in np.flatnonzero(buckets == bucket))


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
