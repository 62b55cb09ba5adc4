"""What the programs of all converters share: options, signals, exit codes and the verdict."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from training.records.conversion.shard_plan import Shard
from training.records.shard_files import count_examples
from training.runtime import command_line


def parser(program: str, description: str | None) -> command_line.Parser:
    """Return a parser without options.

    Args:
        program: Such as `training.imagenet.convert`.
        description: Of the program.
    """
    return command_line.Parser(
        prog=f"python -m {program}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def add_options(
    parser: command_line.Parser, *, space: str, train_shards: int, validation_shards: int, damaged: str
) -> None:
    """Add the options of every converter.

    Args:
        parser: Gets them.
        space: Of the shards on the disk, for the help.
        train_shards: The default.
        validation_shards: The default.
        damaged: The help of '--on-bad-data'.
    """
    add, whole = parser.add_argument, command_line.whole_number
    cores = len(os.sched_getaffinity(0))
    add("--source", type=command_line.path, required=True, help="folder with the archives or the extracted images")
    add("--output-dir", type=command_line.path, required=True, help=f"folder for the shards; {space}")
    add("--train-shards", type=whole(1, 99999), default=train_shards, help="files (%(default)s)")
    add("--validation-shards", type=whole(1, 99999), default=validation_shards, help="files (%(default)s)")
    add("--on-bad-data", choices=("stop", "skip"), default="stop", help=damaged)
    add("--workers", type=whole(1, 1024), default=cores, help="processes (%(default)s, the usable cores)")


def verdict(shards: Mapping[str, Sequence[Shard]], damaged: Sequence[str], *, skip: bool) -> int:
    """Count the images by the indexes, report whether they are complete, and return the exit code.

    Args:
        shards: Of each split.
        damaged: The damaged images, each with the reason.
        skip: Whether shards are written without their damaged images.
    """
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


def exit_code(run: Callable[[], int]) -> int:
    """Run a converter and return its exit code, also after Ctrl-C or a user's error."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        return command_line.exit_code(run)
    except KeyboardInterrupt as stop:
        print("stopped; the same command resumes: the finished shards are kept", file=sys.stderr)
        return 128 + int(stop.args[0])


def _stop(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(number)
