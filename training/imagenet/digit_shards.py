"""scikit-learn's handwritten digits as shards in ImageNet's own layout, to try the whole path with real images.

python -m training.imagenet.digit_shards --output-dir digits

1,437 training and 360 validation images of ten classes, digit-0 (label 1) to digit-9 (label 10).
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from training.digits import digit_images
from training.imagenet.convert import settings
from training.records import example, shard_files
from training.runtime import command_line, files
from training.runtime.errors import UserError

SYNSETS = tuple(f"digit-{digit}" for digit in range(10))


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = command_line.Parser(
        prog="python -m training.imagenet.digit_shards", description=(__doc__ or "").splitlines()[0]
    )
    add = parser.add_argument
    add("--output-dir", type=Path, required=True, help="folder for the shards; 4 MB")
    add("--image-size", type=command_line.whole_number(8, 1024), default=64, help="pixels a side (%(default)s)")
    add("--train-shards", type=command_line.whole_number(1, 1437), default=8, help="files (%(default)s)")
    add("--validation-shards", type=command_line.whole_number(1, 360), default=2, help="files (%(default)s)")
    return parser.parse_args(arguments)


def run(given: argparse.Namespace) -> None:
    """Writes the shards."""
    data = digit_images.load()
    splits = (
        (shard_files.TRAIN, data.train_images, data.train_labels, given.train_shards),
        (shard_files.VALIDATION, data.test_images, data.test_labels, given.validation_shards),
    )
    files.make_writable(given.output_dir)
    made_with = {
        "the data": "digits",
        "--image-size": given.image_size,
        "--train-shards": given.train_shards,
        "--validation-shards": given.validation_shards,
    }
    with settings.folder_for(given.output_dir, made_with):
        settings.write_synsets(given.output_dir, SYNSETS)
        for split, images, labels, count in splits:
            for index in range(count):
                path = given.output_dir / shard_files.shard_name(split, index, count)
                part = _examples(images[index::count], labels[index::count], given.image_size, path.name)
                shard_files.write_shard(path, part, len(SYNSETS))
            print(f"{split}: {len(images):,} images of {len(SYNSETS)} classes in {count} shards", flush=True)


def _examples(images: np.ndarray, labels: np.ndarray, size: int, shard: str) -> Iterator[bytes]:
    large = tf.image.resize(images, [size, size])
    pixels = tf.image.grayscale_to_rgb(tf.cast(tf.round(large * 255), tf.uint8))
    for number, (image, digit) in enumerate(zip(pixels, labels, strict=True)):
        yield example.encode(
            jpeg=tf.io.encode_jpeg(image, "rgb").numpy(),
            label=int(digit) + 1,
            synset=SYNSETS[digit],
            filename=f"{shard}-{number:04d}.JPEG",
            height=size,
            width=size,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Goes from the command line to the exit code."""
    try:
        run(parse_options(arguments))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
