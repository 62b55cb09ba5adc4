"""Conversions of the tiny ImageNet, and their results."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from training.imagenet.convert import __main__ as convert
from training.records import shard_files
from training.records.conversion.shard_plan import Shard
from training.records.conversion.shard_writer import Conversion

COUNTS = ("--train-shards", "4", "--validation-shards", "2")

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/class/synset": tf.io.FixedLenFeature([], tf.string),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
}


def write_here(conversion: Conversion, shards: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, list[str]]]:
    """Write the shards in this process, which has imported TensorFlow, as `shard_processes.run` does in others."""
    for shard in shards:
        yield shard, conversion.write(shard)


def command(source: Path, output: Path, *arguments: str) -> list[str]:
    given = ["--source", str(source), "--output-dir", str(output), "--workers", "2", *arguments]
    return [sys.executable, "-m", "training.imagenet.convert", *given]


def run(source: Path, output: Path, *arguments: str) -> int:
    return convert.main(command(source, output, *COUNTS, *arguments)[3:])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read(folder: Path, split: str) -> dict[str, dict[str, Any]]:
    paths = [str(path) for path in shard_files.find(folder, split).paths]
    parsed = tf.data.TFRecordDataset(paths).map(lambda example: tf.io.parse_single_example(example, FEATURES))
    return {str(example["image/filename"], "utf-8"): example for example in parsed.as_numpy_iterator()}
