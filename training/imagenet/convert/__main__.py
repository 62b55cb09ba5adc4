"""Convert ImageNet to TFRecord shards.

python -m training.imagenet.convert --source /data/archives --output-dir /data/imagenet

The source is a folder with ImageNet's archives, which the program does not extract:
  ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar, ILSVRC2012_devkit_t12.tar.gz
or a folder with a folder for each class in both of:
  train/n01440764/n01440764_10026.JPEG, ...   val/n01440764/ILSVRC2012_val_00000293.JPEG, ...

The same command resumes a stopped run. The program checks headers and end markers of images, and decodes only those
that it re-encodes. The exit code is 0 if every image is in its shard, 1 if some are damaged, and 2 for an input error.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.imagenet.convert import image_source
from training.imagenet.convert.class_conversion import Conversion
from training.records.conversion import conversion_folder, conversion_program
from training.records.conversion.conversion_program import ConversionSettings
from training.runtime import files, options
from training.runtime.command_line import whole_number
from training.runtime.options import changed, option


@dataclass(frozen=True, kw_only=True)
class Settings(ConversionSettings):
    """The command line, an option a field."""

    output_dir: Path = changed(
        ConversionSettings, "output_dir", help="folder for the shards; 155 GB for ImageNet, less with --resize"
    )
    train_shards: int = changed(ConversionSettings, "train_shards", default=1024)
    validation_shards: int = changed(ConversionSettings, "validation_shards", default=128)
    on_bad_data: str = changed(
        ConversionSettings,
        "on_bad_data",
        help="damaged images: write their shards without them (skip), or do not write their shards and fail at the end",
    )
    resize: int | None = option(
        whole_number(32),
        "resize images to this short side in pixels, such as 256, and enlarge none: for speed runs only, since the "
        "accuracy changes (default: no image is resized)",
        default=None,
        metavar="SHORT_SIDE",
    )


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.imagenet.convert", __doc__, arguments)


def run(settings: Settings) -> int:
    """Convert the shards that are not done and return the exit code."""
    files.make_writable(settings.output_dir)
    print(f"listing the images in {settings.source}", flush=True)
    source = image_source.find(settings.source, settings.workers, allow_missing=settings.skip)
    print(*source.sentences(), sep="\n", flush=True)
    numbers = {synset: label for label, synset in enumerate(source.synsets, start=1)}
    conversion = Conversion(
        numbers=numbers,
        classes=len(numbers),
        short_side=settings.resize,
        skip=settings.skip,
        megapixels=settings.max_megapixels,
    )
    return conversion_program.convert(
        settings,
        {split: part.images for split, part in source.splits.items()},
        conversion,
        {"--resize": settings.resize},
        lambda _: conversion_folder.write_synsets(settings.output_dir, source.synsets),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return conversion_program.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
