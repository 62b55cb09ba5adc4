"""The batches of a rank: records read in a given order, decoded by the rank's threads, and on the device in time.

On the CPU an image costs a fused decode-and-crop and a resize, and its result is bytes: `make bench-input` measures it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.imagenet import image_decoding, image_work, record_checks
from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.decoded_images import DecodedImages
from training.imagenet.gpu_decoding import GpuDecoder
from training.imagenet.image_work import Batch as Batch
from training.records.epoch_order import Order
from training.records.numbered_records import Records
from training.records.pipeline import Pipeline
from training.records.stages import Pass
from training.records.undamaged_batches import UndamagedBatches

Decode = Callable[[tf.Tensor, tf.Tensor], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings that all epochs share."""

    run: ClassifierSettings
    """The command line."""
    threads: int
    """Threads that decode."""
    device: str | None = None
    """Device of the batches, such as "/GPU:0". Default: the machine's memory."""
    dali: bool = False
    """Whether DALI decodes, on the device. Default: TensorFlow decodes on the CPU."""


class InputPipeline(Pipeline):
    """Reads and decodes the batches of a split, and copies them to the device."""

    def __init__(self, records: Records, settings: Settings, kept: range | None = None) -> None:
        """Set the values that all epochs share.

        Args:
            records: Records of the split.
            settings: Settings of all epochs.
            kept: Records whose decoded images stay in memory; not with DALI. Default: every epoch decodes the JPEGs.

        Raises:
            UserError: DALI is not installed.
        """
        super().__init__(len(records), seed=settings.run.seed, mirror=settings.run.mirror == "on")
        self._records, self._settings = records, settings
        self._decoded = None if kept is None else DecodedImages(records, kept)
        threads, device, skip = settings.threads, settings.device, settings.run.skip_damaged
        if settings.dali:
            decoder = GpuDecoder(size=settings.run.image_size, threads=threads, device=device)
            self._undamaged = UndamagedBatches(threads=threads, skip_damaged=skip, finish=decoder.batches)
        else:
            self._undamaged = UndamagedBatches(threads=threads, device=device, skip_damaged=skip)
        self.skipped_records = self._undamaged.skipped_records

    def batches(self, order: Order, flips: NDArray[np.bool_], key: int | None, start_step: int) -> Iterator[Batch]:
        """Yield batches of random crops, or of the centres; the previous record in the order replaces a skipped one."""
        run = self._settings.run
        size, classes = run.image_size, run.classes

        def window_of(shape: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
            if key is None:
                return image_decoding.evaluation_window(shape)
            return image_decoding.training_window(shape, number, key, run.min_crop_area)

        if self._decoded:
            work = image_work.decoded(self._decoded, window_of, flips, size=size, classes=classes)
        else:
            decode_here = not self._settings.dali
            work = image_work.encoded(self._records, window_of, flips, size=size, classes=classes, decode=decode_here)

        def decode(jpeg: tf.Tensor, number: tf.Tensor) -> None:
            if self._decoded:
                image_decoding.decode_smaller(jpeg)
            else:
                image_decoding.decode(jpeg, lambda shape: window_of(shape, number), size)

        def check(number: int) -> None:
            _check(self._records, number, decode, classes)

        todo = Pass(numbers=order.numbers, weights=order.weights, work=work)
        return self._undamaged.batches(todo, check, start_step=start_step, weight_of_replaced=int(key is not None))


def _check(records: Records, number: int, decode: Decode, classes: int) -> None:
    """Process a record alone, as the pipeline does.

    Args:
        records: Records of the split.
        number: Number of the record.
        decode: Decodes a JPEG (string) as the pipeline does, by the number of its record (int64).
        classes: The largest label.

    Raises:
        DamagedRecordError: It is damaged.
        UserError: The operating system cannot read the file, or the labels count from 0: no damage of a record.
    """
    (content,) = records.read([number])
    # On the CPU, as in the pipeline.
    with tf.device("/CPU:0"):
        try:
            jpegs, labels = records.parse(tf.constant([content]), tf.constant([number], tf.int64))
        # UnicodeDecodeError: TensorFlow puts the bytes that it could not parse into its message.
        except (tf.errors.InvalidArgumentError, UnicodeDecodeError) as error:
            raise records.damaged_record(number, "is not a tf.train.Example with an image and its label") from error
        jpeg, label = jpegs.numpy()[0], int(labels[0])
        record_checks.check(records, number, jpeg, label, classes)
        try:
            decode(jpegs[0], tf.constant(number, tf.int64))
        except tf.errors.InvalidArgumentError as error:
            raise record_checks.undecodable(records, number, jpeg) from error


class SyntheticPipeline(Pipeline):
    """The same interface without files: one batch of noise for every step, so that only the network takes time."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(0, seed=settings.run.seed, mirror=False)
        self._settings = settings

    def batches(self, order: Order, flips: NDArray[np.bool_], key: int | None, start_step: int) -> Iterator[Batch]:
        """Yield the number of batches, with the weights, that `InputPipeline` yields."""
        run, count = self._settings.run, order.numbers.shape[1]
        random = np.random.default_rng(run.seed)
        with tf.device(self._settings.device):
            images = tf.constant(random.integers(256, size=(count, run.image_size, run.image_size, 3), dtype=np.uint8))
            labels = tf.constant(random.integers(run.classes, size=count, dtype=np.int32))
            mirrored = tf.zeros(count, tf.bool)
        for step in range(start_step, len(order)):
            yield Batch(images, labels, mirrored, tf.constant(order.weights[step]))
