"""What is to be converted: found by its layout, and counted before anything is written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.imagenet.convert import archives, folders
from training.imagenet.convert.images import Split
from training.records.shard_files import TOTALS, TRAIN, VALIDATION
from training.runtime.errors import UserError

_LAYOUT = (
    f"{archives.TRAIN}, {archives.VALIDATION} and {archives.DEVKIT}, "
    "or the folders train/ and val/ with a folder for each class in both"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Both splits, and the classes that they share."""

    synsets: Sequence[str]
    """Sorted: the first one has label 1."""
    splits: Mapping[str, Split]

    @property
    def is_imagenet(self) -> bool:
        """Whether these are ImageNet's 1,000 classes, by their number and the first and the last one."""
        ends = (self.synsets[0], self.synsets[-1])
        return len(self.synsets) == 1000 and ends == ("n01440764", "n15075141")

    def sentences(self) -> list[str]:
        """Says what was found."""
        kind = "ImageNet's" if self.is_imagenet else "not ImageNet's, so their images are counted but not compared"
        lines = [
            f"{name}: {len(split.images):,} images of {len(self.synsets):,} classes in {split.place}"
            for name, split in self.splits.items()
        ]
        return [*lines, f"classes: {self.synsets[0]} to {self.synsets[-1]}, {kind}"]


def find(folder: Path, workers: int, *, allow_missing: bool) -> Source:
    """Lists the images in a folder of archives, or of folders.

    Args:
        folder: What the user gave as `--source`.
        workers: Archives or folders that are listed at once.
        allow_missing: Whether ImageNet may have fewer images than it should.

    Raises:
        UserError: Something is missing, damaged, or does not fit together.
    """
    if not folder.is_dir():
        raise UserError(f"'--source' is {folder}, which is not a folder; give the one that holds {_LAYOUT}")
    try:
        splits = {TRAIN: _train(folder, workers), VALIDATION: _validation(folder, workers)}
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read ({error.strerror}); mend that, then start again") from error
    source = Source(splits[TRAIN].synsets, splits)
    _check_classes(source)
    if source.is_imagenet and not allow_missing:
        _check_totals(source)
    return source


def _train(folder: Path, workers: int) -> Split:
    if (folder / archives.TRAIN).is_file():
        return archives.train(folder / archives.TRAIN, workers)
    if (folder / "train").is_dir():
        return folders.read(folder / "train", workers)
    raise _nothing_known(folder)


def _validation(folder: Path, workers: int) -> Split:
    images, devkit = folder / archives.VALIDATION, folder / archives.DEVKIT
    if images.is_file() and devkit.is_file():
        return archives.validation(images, devkit)
    if (folder / "val").is_dir():
        return folders.read(folder / "val", workers)
    raise _nothing_known(folder)


def _nothing_known(folder: Path) -> UserError:
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    there = f"{', '.join(names[:5])}{f' and {len(names) - 5:,} more' if names[5:] else ''}" if names else "nothing"
    return UserError(f"'--source' is {folder}, which holds {there}; give the folder that holds {_LAYOUT}")


def _check_classes(source: Source) -> None:
    """Every class needs images of both splits, or its label would stand for nothing."""
    train, validation = (set(split.synsets) for split in source.splits.values())
    for name, missing in ((VALIDATION, train - validation), (TRAIN, validation - train)):
        if missing:
            raise UserError(
                f"{source.splits[name].place} has no images of {len(missing):,} classes that the other split has, "
                f"such as {min(missing)}; give both splits of the same dataset"
            )


def _check_totals(source: Source) -> None:
    for name, split in source.splits.items():
        if len(split.images) != TOTALS[name]:
            smallest = min(Counter(image.synset for image in split.images).items(), key=lambda pair: pair[1])
            raise UserError(
                f"{split.place} holds {len(split.images):,} images, but ImageNet has {TOTALS[name]:,} ({name}); "
                f"the smallest class is {smallest[0]} with {smallest[1]:,}: download or extract it again, "
                "or convert what is there with '--on-bad-data skip'"
            )
