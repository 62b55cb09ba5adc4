"""The batches of a rank: records read in a given order and decoded by the processes of a DataLoader."""

import io
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from training.imagenet import record_checks
from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.crops_and_colors import ASPECT, ATTEMPTS, CENTRE
from training.records.epoch_order import Order
from training.records.numbered_records import Records
from training.records.pipeline import Pipeline
from training.records.tfrecords import DamagedRecordError
from training.runtime import parent_death
from training.runtime.errors import LostFileSystemError, UserError


class Window(NamedTuple):
    """A part of an image, pixels."""

    top: int
    left: int
    height: int
    width: int


WindowOf = Callable[[int, int, int], Window]
"""Chooses a part by an image's height and width, and its record's number."""


class Batch(NamedTuple):
    """A step's images."""

    images: torch.Tensor
    """uint8 (batch x 3 x size x size), for `to_float` of the program."""
    labels: torch.Tensor
    """int64 (batch), from 0."""
    flips: torch.Tensor
    """Whether to mirror, bool (batch)."""
    weights: torch.Tensor
    """float32 (batch): 0 for an image that only fills the batch."""


class Made(NamedTuple):
    """The result of a process of the DataLoader for a step."""

    batch: Batch | None
    """None with an error."""
    damaged: dict[int, DamagedRecordError]
    """The skipped records of the step, by their numbers."""
    error: UserError | LostFileSystemError | None = None
    """A damaged record that must not be skipped, or a file that cannot be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings that all epochs share."""

    run: ClassifierSettings
    """The command line."""
    workers: int
    """Processes that read and decode; 0 for none beside this one."""
    device: torch.device
    """Device of the batches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps(torch.utils.data.Dataset[Made]):
    """The steps of a pass over a rank's share; each depends on its number alone."""

    records: Records
    order: Order
    window_of: WindowOf
    flips: NDArray[np.bool_]
    """Whether to mirror, for every record of the split."""
    settings: Settings
    weight_of_replaced: float
    """The largest weight of a replaced record."""

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, step: int) -> Made:
        """Read and decode the images of a step."""
        damaged: dict[int, DamagedRecordError] = {}
        try:
            contents = self._contents(self.order.numbers[step].tolist())
            made = [self._image(step, place, contents, damaged) for place in range(self.order.numbers.shape[1])]
        except (UserError, LostFileSystemError) as error:
            # Returned: PyTorch would raise another error with its text.
            return Made(None, damaged, error)
        images, labels, numbers, weights = zip(*made, strict=True)
        return Made(
            Batch(
                torch.stack(images),
                torch.tensor(labels),
                torch.from_numpy(self.flips[list(numbers)]),
                torch.tensor(weights),
            ),
            damaged,
        )

    def _contents(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Read records with one call: a network file system answers all at the same time."""
        try:
            return dict(zip(numbers, self.records.read(numbers), strict=True))
        except DamagedRecordError:
            # Each is read alone then, to find which.
            return {}

    def _image(
        self, step: int, place: int, contents: Mapping[int, bytes], damaged: dict[int, DamagedRecordError]
    ) -> tuple[torch.Tensor, int, int, float]:
        """Return image, label, number and weight of a place; the nearest undamaged record before it if need be."""
        numbers = self.order.numbers.reshape(-1)
        first = step * self.order.numbers.shape[1] + place
        weight = float(self.order.weights.reshape(-1)[first])
        for distance in range(len(numbers)):
            # Before the first record of the epoch is the last one.
            number = int(numbers[first - distance])
            if number in damaged:
                continue
            try:
                image, label = self._decoded(number, contents.get(number))
                return image, label, number, min(weight, self.weight_of_replaced) if distance else weight
            except DamagedRecordError as error:
                if not self.settings.run.skip_damaged:
                    raise
                damaged[number] = error
        raise UserError("all records of this rank are damaged; convert the dataset again")

    def _decoded(self, number: int, content: bytes | None) -> tuple[torch.Tensor, int]:
        if content is None:
            (content,) = self.records.read([number])
        jpeg, label = self.records.image(content, number)
        record_checks.check(self.records, number, jpeg, label, self.settings.run.classes)
        try:
            # By Pillow, because torchvision 0.29 removes its decoder.
            with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as opened:
                pixels = torch.from_numpy(np.array(opened.convert("RGB"))).permute(2, 0, 1)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            raise record_checks.undecodable(self.records, number, jpeg) from error
        window = self.window_of(pixels.shape[1], pixels.shape[2], number)
        return cut(pixels, window, self.settings.run.image_size), label - 1


def training_window(height: int, width: int, number: int, key: int, min_crop_area: float) -> Window:
    """Draw a random part of an image.

    Area and ratio of the sides are in the ranges of TensorFlow's side; the draws are others.

    Args:
        height: Height of the image, pixels.
        width: Width of the image, pixels.
        number: The record's number.
        key: The value of `pipeline.epoch_key`.
        min_crop_area: The smallest part of the image's area, above 0 to 1.
    """
    random = np.random.default_rng([key, number])
    for _ in range(ATTEMPTS):
        area, aspect = random.uniform(min_crop_area, 1.0) * height * width, random.uniform(*ASPECT)
        chosen_height, chosen_width = round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))
        if 0 < chosen_height <= height and 0 < chosen_width <= width:
            top, left = random.integers(height - chosen_height + 1), random.integers(width - chosen_width + 1)
            return Window(int(top), int(left), chosen_height, chosen_width)
    return Window(0, 0, height, width)


def evaluation_window(height: int, width: int) -> Window:
    """Return the central square: as a central crop of the image resized to a short side of 8/7 of the size."""
    side = round(CENTRE * min(height, width))
    return Window((height - side) // 2, (width - side) // 2, side, side)


def cut(image: torch.Tensor, window: Window, size: int) -> torch.Tensor:
    """Return a part of an image in another size, as TensorFlow's side does: bilinear, and rounded to bytes.

    Args:
        image: uint8 (3 x height x width).
        window: The part.
        size: Height and width of the result, pixels.
    """
    top, left, height, width = window
    part = image[None, :, top : top + height, left : left + width].float()
    resized = torch.nn.functional.interpolate(part, (size, size), mode="bilinear", align_corners=False)
    return (resized[0] + 0.5).to(torch.uint8)


class ImageBatches(Pipeline):
    """Makes the batches of a split, on the device."""

    def __init__(self, records: Records, settings: Settings) -> None:
        """Set the values that all epochs share.

        Args:
            records: Records of the split.
            settings: Settings of all epochs.
        """
        super().__init__(len(records), seed=settings.run.seed, mirror=settings.run.mirror == "on")
        self._records, self._settings = records, settings

    def batches(self, order: Order, flips: NDArray[Any], key: int | None, start_step: int) -> Iterator[Batch]:
        """Yield batches of random crops, or in an evaluation of the centres."""
        settings = self._settings

        def window_of(height: int, width: int, number: int) -> Window:
            if key is None:
                return evaluation_window(height, width)
            return training_window(height, width, number, key, settings.run.min_crop_area)

        steps = Steps(
            records=self._records,
            order=order,
            window_of=window_of,
            flips=flips,
            settings=settings,
            weight_of_replaced=0.0 if key is None else 1.0,
        )
        on_gpu = settings.device.type == "cuda"
        loader = torch.utils.data.DataLoader(
            steps,
            batch_size=None,
            sampler=range(start_step, len(order)),
            num_workers=settings.workers,
            collate_fn=_as_it_is,
            pin_memory=on_gpu,
            # The index of a thousand shards is shared, not sent to each process.
            multiprocessing_context="fork" if settings.workers else None,
            worker_init_fn=_end_with_the_rank,
        )
        for made in loader:
            yield Batch(*(each.to(settings.device, non_blocking=True) for each in self._checked(Made(*made))))

    def _checked(self, made: Made) -> Batch:
        """Return the batch; report the skipped records.

        Raises:
            UserError: There is no batch.
            LostFileSystemError: The same, because the file system of the records was lost.
        """
        if made.batch is None:
            raise made.error or AssertionError("a step has neither images nor an error")
        for number, error in made.damaged.items():
            if number not in self.skipped_records:
                print(f"warning: skipped: {error.where} {error.reason}", file=sys.stderr, flush=True)
        self.skipped_records.update(made.damaged)
        return Batch(*made.batch)


class SyntheticBatches(Pipeline):
    """The same interface without files: one batch of noise for every step, so that only the network takes time."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(0, seed=settings.run.seed, mirror=False)
        self._settings = settings

    def batches(self, order: Order, flips: NDArray[Any], key: int | None, start_step: int) -> Iterator[Batch]:
        """Yield the number of batches, with the weights, that `ImageBatches` yields."""
        run, device, count = self._settings.run, self._settings.device, order.numbers.shape[1]
        random = np.random.default_rng(run.seed)
        noise = random.integers(256, size=(count, 3, run.image_size, run.image_size), dtype=np.uint8)
        labels = random.integers(run.classes, size=count)
        images, classes = (torch.from_numpy(each).to(device) for each in (noise, labels))
        mirrored = torch.zeros(count, dtype=torch.bool, device=device)
        for step in range(start_step, len(order)):
            yield Batch(images, classes, mirrored, torch.from_numpy(order.weights[step]).to(device))


def _as_it_is(made: Made) -> Made:
    """Return the result of a process: it is a batch already."""
    return made


def _end_with_the_rank(_: int) -> None:
    """Let only the rank end a process of the DataLoader: by its own end, too, since both have its lock."""
    parent_death.send_when_the_parent_ends(signal.SIGKILL)
    # torchrun and terminals signal the group of a rank, which must still read when it saves its state.
    os.setsid()
    # By default again: the rank's handler would only take a note, and its exit would wait for ever.
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
