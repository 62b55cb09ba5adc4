"""The parts that the programs of all converters share: options, signals, exit codes and the verdict."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ...runtime import command_line
from ...runtime.command_line import path, whole_number
from ...runtime.options import option
from ..shard_files import TRAIN, VALIDATION, count_examples
from . import conversion_folder, shard_plan, shard_processes
from .image_header import MEGAPIXELS
from .shard_plan import PlannedImage, Shard
from .shard_writer import Conversion


@dataclass(frozen=True, kw_only=True)
class ConversionSettings:
    """The options of every converter."""

    source: Path = option(path, "folder with the archives or the extracted images")
    output_dir: Path = option(path, "folder for the shards")
    train_shards: int = option(whole_number(1, 99999), "files")
    validation_shards: int = option(whole_number(1, 99999), "files")
    on_bad_data: str = option(("stop", "skip"), "damaged images", default="stop")
    max_megapixels: int = option(
        whole_number(1), "largest image, in millions of pixels; a larger one counts as damaged", default=MEGAPIXELS
    )
    workers: int = option(
        whole_number(1, 1024), "processes; by default as many as the usable cores", default=len(os.sched_getaffinity(0))
    )

    @property
    def skip(self) -> bool:
        """Whether to skip damaged images."""
        return self.on_bad_data == "skip"


def convert(
    settings: ConversionSettings,
    splits: Mapping[str, Sequence[PlannedImage]],
    conversion: Conversion,
    made_with: Mapping[str, Any],
    write_beside: Callable[[Mapping[str, Sequence[Shard]]], object],
) -> int:
    """Write the shards that are not done and return the exit code.

    Args:
        settings: The command line.
        splits: Images of each split.
        conversion: The work on a shard.
        made_with: Other values that the shards depend on, by the names of the options.
        write_beside: Writes the other files of the dataset, when every shard is written.
    """
    counts = {TRAIN: settings.train_shards, VALIDATION: settings.validation_shards}
    shards = shard_plan.make(splits, counts, settings.output_dir)
    described = {
        "--train-shards": settings.train_shards,
        "--validation-shards": settings.validation_shards,
        "the fingerprint of the images": shard_plan.fingerprint(shards),
        **made_with,
    }
    with conversion_folder.locked(settings.output_dir, described):
        every = [shard for split in shards.values() for shard in split]
        damaged = shard_processes.convert(conversion, every, settings.workers)
        if not damaged or settings.skip:
            write_beside(shards)
    return _verdict(shards, damaged, skip=settings.skip)


def _verdict(shards: Mapping[str, Sequence[Shard]], damaged: Sequence[str], *, skip: bool) -> int:
    """Count the images by the indexes, report whether they are complete, and return the exit code.

    Args:
        shards: Shards of each split.
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
