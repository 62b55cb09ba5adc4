"""Convert ImageNet to TFRecord shards.

python -m training.imagenet.convert --source /data/archives --output-dir /data/imagenet

The source is a folder with ImageNet's archives, which the program does not extract:
  ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar, ILSVRC2012_devkit_t12.tar.gz
or a folder with a folder for each class in both of:
  train/n01440764/n01440764_10026.JPEG, ...   val/n01440764/ILSVRC2012_val_00000293.JPEG, ...

The same command resumes a stopped run. The program checks headers and end markers of images, and decodes only those
that it re-encodes. The exit code is 0 if every image is in its shard, 1 if some are damaged, and 2 for an input error.
"""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Self

from training.imagenet.convert import image_source, shard_plan, shard_processes
from training.imagenet.convert.shard_plan import Conversion, Shard
from training.records import conversion_folder
from training.records.shard_files import TRAIN, VALIDATION, count_examples
from training.runtime import command_line, files
from training.runtime.errors import USER_ERROR, UserError

_RESIZE_HELP = (
    "resize images to this short side in pixels, such as 256, and enlarge none: for speed runs only, since the "
    "accuracy changes (default: no image is resized)"
)
_BAD_DATA_HELP = (
    "damaged images: write their shards without them (skip), or do not write their shards and fail at the end "
    "(stop, the default)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings of one run."""

    source: Path
    output_dir: Path
    train_shards: int
    validation_shards: int
    resize: int | None
    """The short side, pixels; None resizes no image."""
    skip: bool
    """Whether to skip damaged images."""
    workers: int
    """Processes."""

    @classmethod
    def parse(cls, arguments: Sequence[str] | None = None) -> Self:
        """Return the settings of a command line."""
        parser = command_line.Parser(
            prog="python -m training.imagenet.convert",
            description=__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add, whole = parser.add_argument, command_line.whole_number
        cores = len(os.sched_getaffinity(0))
        add("--source", type=Path, required=True, help="folder with the archives or the extracted images")
        add(
            "--output-dir",
            type=Path,
            required=True,
            help="folder for the shards; 155 GB for ImageNet, less with --resize",
        )
        add("--train-shards", type=whole(1, 99999), default=1024, help="files (%(default)s)")
        add("--validation-shards", type=whole(1, 99999), default=128, help="files (%(default)s)")
        add("--resize", type=whole(32), metavar="SHORT_SIDE", help=_RESIZE_HELP)
        add("--on-bad-data", choices=("stop", "skip"), default="stop", help=_BAD_DATA_HELP)
        add("--workers", type=whole(1, 1024), default=cores, help="processes (%(default)s, the usable cores)")
        given = vars(parser.parse_args(arguments))
        return cls(skip=given.pop("on_bad_data") == "skip", **given)


def run(settings: Settings) -> int:
    """Convert the shards that are not done and return the exit code."""
    output = settings.output_dir
    files.make_writable(output)
    print(f"listing the images in {settings.source}", flush=True)
    source = image_source.find(settings.source, settings.workers, allow_missing=settings.skip)
    print(*source.sentences(), sep="\n", flush=True)
    counts = {TRAIN: settings.train_shards, VALIDATION: settings.validation_shards}
    shards = shard_plan.make(source, counts, output)
    made_with = {
        "--train-shards": settings.train_shards,
        "--validation-shards": settings.validation_shards,
        "--resize": settings.resize,
        "the fingerprint of the images": shard_plan.fingerprint(shards),
    }
    with conversion_folder.locked(output, made_with):
        conversion_folder.write_synsets(output, source.synsets)
        conversion = Conversion(synsets=source.synsets, short_side=settings.resize, skip=settings.skip)
        every = [shard for split in shards.values() for shard in split]
        damaged = shard_processes.convert(conversion, every, settings.workers)
    return _verdict(shards, damaged, skip=settings.skip)


def _verdict(shards: Mapping[str, Sequence[Shard]], damaged: Sequence[str], *, skip: bool) -> int:
    """Count the images by the indexes, and report whether they are complete."""
    for sentence in damaged:
        print(f"  {sentence}")
    if damaged and not skip:
        print(
            f"FAIL: {len(damaged):,} images are damaged (above), and their shards are not written; replace the images, "
            "or skip them with '--on-bad-data skip': the other shards are done"
        )
        return 1
    for split, parts in shards.items():
        planned = sum(len(shard.images) for shard in parts)
        written = sum(count_examples(shard.path) or 0 for shard in parts)
        skipped = f", {planned - written:,} damaged ones are skipped" if written < planned else ""
        print(f"{split}: {written:,} images in {len(parts):,} shards{skipped}")
    print("PASS: every image that is not damaged is in its shard, and every shard was read back")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        return run(Settings.parse(arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt as stop:
        print("stopped; the same command resumes: the finished shards are kept", file=sys.stderr)
        return 128 + int(stop.args[0])


def _stop(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    sys.exit(main())
