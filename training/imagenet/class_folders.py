"""Put ImageNet's images into a folder for each class.

python -m training.imagenet.class_folders --source /efs/data/ilsvrc --output-dir /efs/data/imagenet

The source is a folder with the development kit, whose labels name the classes, and the validation images:
  ILSVRC2012_devkit_t12.tar.gz
  ILSVRC2012_img_val.tar, or the files ILSVRC2012_val_00000001.JPEG, ... in this folder or in val/
Where ILSVRC2012_img_train.tar is beside them, the training images are extracted too. They become
  val/n01440764/ILSVRC2012_val_00000293.JPEG, ...   train/n01440764/n01440764_10026.JPEG, ...
which '--data-dir' of the training programs and the ImageFolder of torchvision read.

The same command resumes a stopped run: every image is compared with the source, byte for byte, and those that are in
their folder are kept. The exit code is 0 if every image is in its folder and nothing else is, 1 if not, and 2 for an
input error.
"""

import os
import signal
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import FrameType

from training.imagenet.convert import archives
from training.imagenet.convert.class_images import Image, Split
from training.records.conversion.source_images import DamagedImageError
from training.runtime import command_line, files, options
from training.runtime.command_line import path, whole_number
from training.runtime.errors import UserError
from training.runtime.options import option

# As ImageNet is extracted for PyTorch.
_TRAIN, _VALIDATION = "train", "val"

_LAYOUT = (
    f"{archives.DEVKIT} and {archives.VALIDATION}, or that file and the images ILSVRC2012_val_00000001.JPEG, ... in it "
    f"or in {_VALIDATION}/"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    source: Path = option(path, "folder with the archives")
    output_dir: Path = option(path, "gets val/ and train/")
    workers: int = option(whole_number(1, 1024), "classes at the same time", default=32)


@dataclass(frozen=True, slots=True)
class Placed:
    """The result of one folder."""

    written: int
    damaged: Sequence[str]
    """Images that could not be read, each with the reason."""
    strangers: Sequence[str]
    """Names in the folder beside the images of the source."""


def find(source: Path, workers: int) -> dict[str, Split]:
    """List the images of the source by the name of their folder.

    Raises:
        UserError: The source is incomplete or damaged, or its splits have different classes.
    """
    try:
        splits = {_VALIDATION: _validation(source)}
        if (source / archives.TRAIN).is_file():
            splits[_TRAIN] = archives.train(source / archives.TRAIN, workers)
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read ({error.strerror}); fix that, then start again") from error
    if _TRAIN in splits and splits[_TRAIN].synsets != splits[_VALIDATION].synsets:
        raise UserError(f"{archives.TRAIN} has other classes than {archives.DEVKIT}; give archives of the same year")
    return splits


def _validation(source: Path) -> Split:
    devkit, archive = source / archives.DEVKIT, source / archives.VALIDATION
    if devkit.is_file() and archive.is_file():
        return archives.validation(archive, devkit)
    if devkit.is_file():
        for folder in (source, source / _VALIDATION):
            if folder.is_dir() and (split := archives.validation_files(folder, devkit)):
                return split
    raise UserError(f"'--source' is {source}, which does not contain {_LAYOUT}; give the folder with them")


def place(images: Sequence[Image], folder: Path) -> Placed:
    """Write the images of one class that are not in its folder, and compare those that are.

    Raises:
        OSError: The folder cannot be written to.
        UserError: An archive cannot be read any more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written, damaged = 0, []
    for image in images:
        try:
            written += _write(folder / image.name, image.read())
        except DamagedImageError as error:
            damaged.append(f"{image}: {error}")
    return Placed(written, damaged, _strangers(folder, {image.name for image in images}))


def _write(path: Path, content: bytes) -> bool:
    """Write a file unless it has this content; return whether it had to be written."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return False

    def compare(written: Path) -> None:
        if written.read_bytes() != content:
            raise OSError(None, "what was written reads back differently", str(path))

    files.write_atomically(path, content, compare)
    return True


def run(settings: Settings) -> int:
    """Place the images of a source and return the exit code."""
    output, workers = settings.output_dir, settings.workers
    print(f"listing the images in {settings.source}", flush=True)
    splits = find(settings.source, workers)
    if splits[_VALIDATION].place.absolute() == (output / _VALIDATION).absolute():
        raise UserError(
            f"'--output-dir' is {output}, whose {_VALIDATION}/ has the loose images of '--source', which would stay "
            "between the classes; give another folder"
        )
    files.make_writable(output)
    try:
        return _verdict({name: _place_split(split, output / name, workers) for name, split in splits.items()}, splits)
    except OSError as error:
        raise files.unwritable(output, error) from error


def _place_split(split: Split, folder: Path, workers: int) -> list[Placed]:
    print(f"{len(split.images):,} images of {len(split.synsets):,} classes from {split.place} to {folder}", flush=True)
    classes = [(folder / synset, list(images)) for synset, images in groupby(split.images, lambda image: image.synset)]
    with ThreadPoolExecutor(workers) as pool:
        placed = list(pool.map(lambda each: place(each[1], each[0]), classes))
    return [*placed, Placed(0, [], _strangers(folder, split.synsets))]


def _strangers(folder: Path, known: Collection[str]) -> list[str]:
    """Return the names in a folder beside the known ones.

    A hidden file is one that a killed run did not finish, or of a file manager; no program reads it.
    """
    names = [name for name in os.listdir(folder) if name not in known and not name.startswith(".")]
    return [str(folder / name) for name in sorted(names)]


def _verdict(placed: Mapping[str, Sequence[Placed]], splits: Mapping[str, Split]) -> int:
    for name, split in splits.items():
        written = sum(each.written for each in placed[name])
        print(f"{name}: {len(split.images):,} images, {written:,} of them written by this run")
    wrong = list(_sentences(placed))
    for sentence in wrong:
        print(f"  {sentence}")
    if wrong:
        print(f"FAIL: {len(wrong):,} files are wrong (above); correct that, then start the same command again")
        return 1
    print("PASS: every image is in the folder of its class, as in the source, and nothing else is there")
    return 0


def _sentences(placed: Mapping[str, Sequence[Placed]]) -> Iterator[str]:
    for each in (each for split in placed.values() for each in split):
        yield from each.damaged
        yield from (f"{stranger} is not of the source; remove it" for stranger in each.strangers)


def _stop(number: int, _: FrameType | None) -> None:
    # At once, from any thread's work: no file has its name before it is complete.
    print("stopped; the same command resumes", file=sys.stderr, flush=True)
    os._exit(128 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    program = "training.imagenet.class_folders"
    return command_line.exit_code(lambda: run(options.parse(Settings, program, __doc__, arguments)))


if __name__ == "__main__":
    sys.exit(main())
