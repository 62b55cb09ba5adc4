"""Small datasets for the tests of training.records and training.imagenet."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from awscrt.checksums import crc32c

from training.imagenet.classifier_settings import ClassifierSettings
from training.imagenet.imagenet_example import encode
from training.records.shard_files import index_path, shard_name


def run_settings(**given: Any) -> ClassifierSettings:
    return ClassifierSettings(synthetic=True, output_dir=Path("unused"), **given)


def jpeg(seed: int, height: int = 24, width: int = 32, channels: int = 3) -> bytes:
    """Return noise, so that all images differ."""
    pixels = np.random.default_rng(seed).integers(256, size=(height, width, channels), dtype=np.uint8)
    return bytes(tf.io.encode_jpeg(pixels).numpy())


def example(number: int, label: int = 1, content: bytes | None = None) -> bytes:
    content = jpeg(number) if content is None else content
    return encode(jpeg=content, label=label, synset="n00000001", filename="a.JPEG", height=24, width=32)


def framed(data: bytes) -> bytes:
    """Return a record by the published format, independently of the tested code."""

    def masked(part: bytes) -> bytes:
        checksum = crc32c(part)
        return struct.pack("<I", (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) % 2**32)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def write_shards(
    folder: Path, examples: Sequence[bytes], count: int, split: str = "train", index: bool = True
) -> list[Path]:
    """Write examples in order to shards of about the same size."""
    folder.mkdir(exist_ok=True)
    paths = []
    for place, part in enumerate(np.array_split(np.arange(len(examples)), count)):
        path = folder / shard_name(split, place, count)
        records = [framed(examples[number]) for number in part]
        path.write_bytes(b"".join(records))
        offsets = np.cumsum([0, *map(len, records)])
        if index:
            index_path(path).write_text("".join(f"{at} {len(r)}\n" for at, r in zip(offsets, records, strict=False)))
        paths.append(path)
    return paths
