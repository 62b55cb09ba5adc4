"""The source of a conversion: its layout, its classes and the number of its images, checked before it is converted."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from training.imagenet.convert import archives
from training.imagenet.convert.class_images import Image, Split, in_order
from training.imagenet.crops_and_colors import TOTALS
from training.records.conversion import source_images
from training.records.shard_files import TRAIN, VALIDATION
from training.runtime.errors import UserError

_LAYOUT = (
    f"{archives.TRAIN}, {archives.VALIDATION} and {archives.DEVKIT}, "
    "or the folders train/ and val/ with a folder for each class in both"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Both splits and their classes."""

    synsets: Sequence[str]
    """Sorted: the first has label 1."""
    splits: Mapping[str, Split]

    @property
    def is_imagenet(self) -> bool:
        """Return whether the classes are ImageNet's 1,000, by their number, the first and the last one."""
        ends = (self.synsets[0], self.synsets[-1])
        return len(self.synsets) == 1000 and ends == ("n01440764", "n15075141")

    def sentences(self) -> list[str]:
        """Describe the source."""
        kind = "ImageNet's" if self.is_imagenet else "not ImageNet's, so their images are counted but not compared"
        lines = [
            f"{name}: {len(split.images):,} images of {len(self.synsets):,} classes in {split.place}"
            for name, split in self.splits.items()
        ]
        return [*lines, f"classes: {self.synsets[0]} to {self.synsets[-1]}, {kind}"]


def find(folder: Path, workers: int, *, allow_missing: bool) -> Source:
    """List the images of archives or of folders.

    Args:
        folder: Given as '--source'.
        workers: Archives or folders that are listed at the same time.
        allow_missing: Whether ImageNet may be incomplete.

    Raises:
        UserError: The source is incomplete or damaged, or its splits have different classes.
    """
    if not folder.is_dir():
        raise UserError(f"'--source' is {folder}, which is not a folder; give the folder with {_LAYOUT}")
    try:
        splits = {TRAIN: _train(folder, workers), VALIDATION: _validation(folder, workers)}
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read ({error.strerror}); fix that, then start again") from error
    source = Source(splits[TRAIN].synsets, splits)
    _check_classes(source)
    if source.is_imagenet and not allow_missing:
        _check_totals(source)
    return source


def _train(folder: Path, workers: int) -> Split:
    if (folder / archives.TRAIN).is_file():
        return archives.train(folder / archives.TRAIN, workers)
    if (folder / "train").is_dir():
        return _folders(folder / "train", workers)
    raise _unknown_layout(folder)


def _validation(folder: Path, workers: int) -> Split:
    images, devkit = folder / archives.VALIDATION, folder / archives.DEVKIT
    if images.is_file() and devkit.is_file():
        return archives.validation(images, devkit)
    if (folder / "val").is_dir():
        return _folders(folder / "val", workers)
    raise _unknown_layout(folder)


def _folders(place: Path, workers: int) -> Split:
    """List the images of a split with a folder for each class, as ImageNet is extracted for PyTorch."""
    entries = [entry for entry in os.scandir(place) if not entry.name.startswith(".")]
    classes = [entry.name for entry in entries if entry.is_dir()]
    if len(classes) < len(entries) or not classes:
        loose = next((entry.name for entry in entries if not entry.is_dir()), None)
        content = f"contains {loose}, which is not a folder" if loose else "is empty"
        raise UserError(f"{place} {content}; put one folder for each class there, such as {place}/n01440764")
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(lambda synset: _class(place / synset), classes)
        return in_order(place, [image for part in parts for image in part])


def _class(folder: Path) -> list[Image]:
    # File managers leave hidden files.
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    other = next((entry.name for entry in entries if not entry.is_file()), None)
    if other is not None or not entries:
        content = f"contains {other}, which is not an image" if other is not None else "is empty"
        raise UserError(f"{folder} {content}; put the class's images there, and nothing else")
    return [Image(entry.path, synset=folder.name) for entry in entries]


def _unknown_layout(folder: Path) -> UserError:
    content = source_images.content_of(folder)
    return UserError(f"'--source' is {folder}, which contains {content}; give the folder with {_LAYOUT}")


def _check_classes(source: Source) -> None:
    """Require images of both splits for every class: without them its label is unused."""
    train, validation = (set(split.synsets) for split in source.splits.values())
    for name, missing in ((VALIDATION, train - validation), (TRAIN, validation - train)):
        if missing:
            raise UserError(
                f"{source.splits[name].place} has no images of {len(missing):,} classes of the other split, "
                f"such as {min(missing)}; give both splits of the same dataset"
            )


def _check_totals(source: Source) -> None:
    for name, split in source.splits.items():
        if len(split.images) != TOTALS[name]:
            smallest = min(Counter(image.synset for image in split.images).items(), key=lambda pair: pair[1])
            raise UserError(
                f"{split.place} contains {len(split.images):,} images, but ImageNet has {TOTALS[name]:,} ({name}); "
                f"the smallest class is {smallest[0]} with {smallest[1]:,}: download or extract it again, "
                "or convert the other images with '--on-bad-data skip'"
            )
