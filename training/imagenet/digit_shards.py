"""Write scikit-learn's handwritten digits as shards in ImageNet's layout, to try the whole path with real images.

python -m training.imagenet.digit_shards --output-dir digits

The result is 1,437 training and 360 validation images of ten classes, digit-0 (label 1) to digit-9 (label 10).
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from training.digits import digit_images
from training.imagenet import imagenet_example
from training.records import shard_files
from training.records.conversion import conversion_folder
from training.runtime import command_line, files, options
from training.runtime.command_line import path, whole_number
from training.runtime.options import option

SYNSETS = tuple(f"digit-{digit}" for digit in range(10))


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The command line, an option a field."""

    output_dir: Path = option(path, "folder for the shards; 4 MB")
    image_size: int = option(whole_number(8, 1024), "pixels a side", default=64)
    train_shards: int = option(whole_number(1, 1437), "files", default=8)
    validation_shards: int = option(whole_number(1, 360), "files", default=2)


def parse(arguments: Sequence[str] | None = None) -> Settings:
    """Return the settings of a command line."""
    return options.parse(Settings, "training.imagenet.digit_shards", __doc__, arguments)


def run(settings: Settings) -> None:
    """Write the shards."""
    data = digit_images.load()
    output = settings.output_dir
    splits = (
        (shard_files.TRAIN, data.train_images, data.train_labels, settings.train_shards),
        (shard_files.VALIDATION, data.test_images, data.test_labels, settings.validation_shards),
    )
    files.make_writable(output)
    made_with = {
        "the data": "digits",
        "--image-size": settings.image_size,
        "--train-shards": settings.train_shards,
        "--validation-shards": settings.validation_shards,
    }
    with conversion_folder.locked(output, made_with):
        conversion_folder.write_synsets(output, SYNSETS)
        for split, images, labels, count in splits:
            for index in range(count):
                shard = output / shard_files.shard_name(split, index, count)
                part = _examples(images[index::count], labels[index::count], settings.image_size, shard.name)
                shard_files.write_shard(shard, part, len(SYNSETS), imagenet_example.labels)
            print(f"{split}: {len(images):,} images of {len(SYNSETS)} classes in {count} shards", flush=True)


def _examples(images: NDArray[Any], labels: NDArray[Any], size: int, shard: str) -> Iterator[bytes]:
    large = tf.image.resize(images, [size, size])
    pixels = tf.image.grayscale_to_rgb(tf.cast(tf.round(large * 255), tf.uint8))
    for number, (image, digit) in enumerate(zip(pixels, labels, strict=True)):
        yield imagenet_example.encode(
            jpeg=tf.io.encode_jpeg(image, "rgb").numpy(),
            label=int(digit) + 1,
            synset=SYNSETS[digit],
            filename=f"{shard}-{number:04d}.JPEG",
            height=size,
            width=size,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return command_line.exit_code(lambda: run(parse(arguments)))


if __name__ == "__main__":
    sys.exit(main())
