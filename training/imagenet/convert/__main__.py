"""Converts ImageNet to TFRecord shards.

python -m training.imagenet.convert --source /data/archives --output-dir /data/imagenet

The source is a folder with ImageNet's archives, which are read in place and not extracted:
  ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar, ILSVRC2012_devkit_t12.tar.gz
or a folder with a folder for each class in both of:
  train/n01440764/n01440764_10026.JPEG, ...   val/n01440764/ILSVRC2012_val_00000293.JPEG, ...

May be stopped at any time and started again with the same options. Images are not decoded unless they have to be
re-encoded: their headers and end markers are checked. Exits with 0 where every image is in its shard, with 1 where some
cannot be used, and with 2 for what must be mended first.
"""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from training.imagenet.convert import plan, pool, settings, source
from training.imagenet.convert.progress import Progress
from training.records.shard_files import TRAIN, VALIDATION, count_examples
from training.runtime import command_line, files
from training.runtime.errors import UserError


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = command_line.Parser(
        prog="python -m training.imagenet.convert",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    cores = len(os.sched_getaffinity(0))
    add("--source", type=Path, required=True, help="folder with the archives or the extracted images")
    add("--output-dir", type=Path, required=True, help="folder for the shards; 155 GB for ImageNet, less with --resize")
    add("--train-shards", type=command_line.whole_number(1, 99999), default=1024, help="files (%(default)s)")
    add("--validation-shards", type=command_line.whole_number(1, 99999), default=128, help="files (%(default)s)")
    add("--resize", type=command_line.whole_number(32), metavar="SHORT_SIDE", help=_RESIZE_HELP)
    add("--on-bad-data", choices=("stop", "skip"), default="stop", help=_BAD_DATA_HELP)
    add(
        "--workers",
        type=command_line.whole_number(1, 1024),
        default=cores,
        help="processes (%(default)s, the usable cores)",
    )
    return parser.parse_args(arguments)


_RESIZE_HELP = (
    "make the images smaller until their short side has so many pixels, such as 256, and none larger: "
    "for speed runs only, since the accuracy changes (not given: as they are)"
)
_BAD_DATA_HELP = (
    "images that cannot be used: leave them out (skip), or leave out the shards that they belong to and fail at the "
    "end (stop, the default)"
)


def run(given: argparse.Namespace) -> int:
    """Converts what is not converted yet and returns the exit code."""
    files.make_writable(given.output_dir)
    print(f"listing the images in {given.source}", flush=True)
    skip = given.on_bad_data == "skip"
    found = source.find(given.source, given.workers, allow_missing=skip)
    print(*found.sentences(), sep="\n", flush=True)
    counts = {TRAIN: given.train_shards, VALIDATION: given.validation_shards}
    shards = plan.make(found, counts, given.output_dir)
    made_with = {
        "--train-shards": given.train_shards,
        "--validation-shards": given.validation_shards,
        "--resize": given.resize,
        "the fingerprint of the images": plan.fingerprint(shards),
    }
    with settings.folder_for(given.output_dir, made_with):
        settings.write_synsets(given.output_dir, found.synsets)
        work = plan.Work(synsets=found.synsets, short_side=given.resize, skip=skip)
        bad = _convert(work, [shard for split in shards.values() for shard in split], given.workers)
    return _verdict(shards, bad, skip=skip)


def _convert(work: plan.Work, shards: Sequence[plan.Shard], workers: int) -> list[str]:
    """Writes the shards that are not done, and returns the images that cannot be used, each with what is wrong."""
    left = [shard for shard in shards if not shard.is_done(complete=not work.skip)]
    if len(left) < len(shards):
        print(f"{len(shards) - len(left):,} of {len(shards):,} shards are done already", flush=True)
    if not left:
        return []
    total, left_images = (sum(len(shard.images) for shard in some) for some in (shards, left))
    progress, bad = Progress(total - left_images, total, sys.stdout), []
    try:
        for shard, found in pool.run(work, left, workers):
            progress.add(len(shard.images))
            bad += found
    finally:
        progress.end()
    return sorted(bad)


def _verdict(shards: Mapping[str, Sequence[plan.Shard]], bad: Sequence[str], *, skip: bool) -> int:
    """Counts what is there now, by the indexes, and says whether it is everything."""
    for sentence in bad:
        print(f"  {sentence}")
    if bad and not skip:
        print(
            f"FAIL: {len(bad):,} images cannot be used (above), and their shards are not written; replace the images, "
            "or start again with '--on-bad-data skip' to leave them out: the other shards are done"
        )
        return 1
    for split, parts in shards.items():
        planned = sum(len(shard.images) for shard in parts)
        written = sum(count_examples(shard.path) or 0 for shard in parts)
        left_out = f", {planned - written:,} that cannot be used are left out" if written < planned else ""
        print(f"{split}: {written:,} images in {len(parts):,} shards{left_out}")
    print("PASS: every image that can be used is in its shard, and every shard was read back")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        return run(parse_options(arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print("stopped; the same command goes on from here: the finished shards stay", file=sys.stderr)
        return 128 + int(stop.args[0])


def _stop(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    sys.exit(main())
