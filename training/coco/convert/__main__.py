"""Convert COCO to TFRecord shards.

python -m training.coco.convert --source /data/archives --output-dir /data/coco

The source is a folder with COCO's archives, which the program does not extract:
  train2017.zip, val2017.zip, annotations_trainval2017.zip
or the folders of these archives:
  train2017/000000000009.jpg, ...   val2017/...   annotations/instances_train2017.json, instances_val2017.json

Besides the shards it writes the height and width of each image (train-00000-of-00256.sizes, ...), categories.json with
the labels, and instances_validation.json, with which an evaluation compares.

The same command resumes a stopped run. The exit code is 0 if every image and object is in its shard, 1 if some are
damaged, and 2 for an input error.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.coco import annotations, categories, image_sizes
from training.coco.convert import coco_source
from training.coco.convert.coco_source import Source
from training.coco.convert.object_conversion import Conversion
from training.records.conversion import conversion_program
from training.records.conversion.conversion_program import ConversionSettings
from training.records.conversion.shard_plan import Shard
from training.records.shard_files import VALIDATION
from training.runtime import files, options
from training.runtime.options import changed

# The number of damaged annotations that a message shows.
_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Settings(ConversionSettings):
    """The command line, an option a field."""

    output_dir: Path = changed(ConversionSettings, "output_dir", help="folder for the shards; 21 GB for COCO 2017")
    train_shards: int = changed(ConversionSettings, "train_shards", default=256)
    validation_shards: int = changed(ConversionSettings, "validation_shards", default=32)
    on_bad_data: str = changed(
        ConversionSettings,
        "on_bad_data",
        help="damaged images and annotations: write the shards without them (skip), or report them and fail",
    )


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.coco.convert", __doc__, arguments)


def run(settings: Settings) -> int:
    """Convert the shards that are not done and return the exit code."""
    files.make_writable(settings.output_dir)
    print(f"reading the annotations in {settings.source}", flush=True)
    source = coco_source.find(settings.source, allow_missing=settings.skip)
    print(*source.sentences(), sep="\n", flush=True)
    if not _accepted(source.problems, skip=settings.skip):
        return 1
    return conversion_program.convert(
        settings,
        {split: part.images for split, part in source.splits.items()},
        Conversion(classes=len(source.categories), skip=settings.skip, megapixels=settings.max_megapixels),
        {f"the {split} annotations": part.digest for split, part in source.splits.items()},
        lambda shards: _write_beside(settings.output_dir, source, shards),
    )


def _accepted(problems: Sequence[str], *, skip: bool) -> bool:
    """Report damaged annotations, and return whether to convert the others."""
    for sentence in problems[:_SHOWN]:
        print(f"  {sentence}")
    if len(problems) > _SHOWN:
        print(f"  and {len(problems) - _SHOWN:,} more")
    if problems and skip:
        print(f"{len(problems):,} images and annotations cannot be used (above) and are skipped", flush=True)
    elif problems:
        print(
            f"FAIL: {len(problems):,} images and annotations cannot be used (above), and nothing is written; "
            "fix them, or skip them with '--on-bad-data skip'"
        )
    return skip or not problems


def _write_beside(output: Path, source: Source, shards: Mapping[str, Sequence[Shard]]) -> None:
    """Write the files that a run needs besides the shards."""
    written = {
        int(image_id)
        for shard in shards[VALIDATION]
        if (sizes := image_sizes.read(shard.path)) is not None
        for image_id in sizes[:, 0]
    }
    annotations.write_truth(output, source.splits[VALIDATION].annotations, written)
    categories.write(output, source.categories)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return conversion_program.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
