from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from tests.training.imagenet import imagenet_archives
from training.records.conversion import complete_jpeg
from training.records.conversion.source_images import DamagedImageError


def decode(content: bytes) -> NDArray[Any]:
    image: NDArray[Any] = tf.io.decode_jpeg(content).numpy()
    return image


@pytest.mark.parametrize("channels", [1, 3])
def test_keeps_a_jpeg_unchanged(channels: int) -> None:
    content = imagenet_archives.jpeg(0, height=20, width=30, channels=channels)
    assert complete_jpeg.prepare(content) == complete_jpeg.Jpeg(content, 20, 30)


def test_converts_cmyk_to_rgb() -> None:
    found = complete_jpeg.prepare(imagenet_archives.CMYK)
    image = decode(found.content)
    assert (found.height, found.width, image.shape) == (9, 12, (9, 12, 3))
    assert tf.image.extract_jpeg_shape(found.content).numpy().tolist() == [9, 12, 3]
    assert np.abs(image.astype(int) - (220, 51, 196)).max() <= 3


@pytest.mark.parametrize("encode", [tf.io.encode_png, lambda pixels: tf.io.encode_png(pixels[..., :1])])
def test_converts_a_png_to_rgb(encode: Callable[[NDArray[Any]], tf.Tensor]) -> None:
    pixels = imagenet_archives.pixels(3)
    found = complete_jpeg.prepare(bytes(encode(pixels).numpy()))
    image = decode(found.content)
    assert (found.height, found.width, image.shape) == (20, 30, (20, 30, 3))
    assert np.abs(image[..., 0].astype(int) - pixels[..., 0]).max() <= 12


def test_resizes_only_larger_images() -> None:
    large = imagenet_archives.jpeg(0, height=200, width=300)
    found = complete_jpeg.prepare(large, 32)
    small = decode(found.content)
    assert (found.height, found.width, small.shape) == (32, 48, (32, 48, 3))
    expected = tf.image.resize(decode(large), [32, 48], "area").numpy()
    assert np.abs(small - expected).mean() < 3
    for size in (200, 201):
        assert complete_jpeg.prepare(large, size).content == large


def test_resizes_a_png() -> None:
    found = complete_jpeg.prepare(
        bytes(tf.io.encode_png(imagenet_archives.pixels(0, height=300, width=64)).numpy()), 32
    )
    assert (found.height, found.width, decode(found.content).shape) == (150, 32, (150, 32, 3))


def test_accepts_bytes_after_a_complete_image() -> None:
    content = imagenet_archives.jpeg(0) + bytes(100)
    assert complete_jpeg.prepare(content).content == content


NOISE = bytes(tf.io.encode_jpeg(np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)).numpy())


@pytest.mark.parametrize("end", [2, 30, 1000, -3, -1])
def test_rejects_a_jpeg_that_is_cut_off(end: int) -> None:
    with pytest.raises(DamagedImageError) as caught:
        complete_jpeg.prepare(NOISE[:end])
    assert str(caught.value) == "cannot be decoded: its JPEG data is damaged or cut off"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"<!DOCTYPE html>", "it begins with b'<!DOCTYP' and is not a complete JPEG, PNG, GIF or BMP"),
        (b"\x89PNG\r\n\x1a\n", "it begins with b'\\x89PNG\\r\\n\\x1a\\n' and is not a complete JPEG, PNG, GIF or BMP"),
    ],
)
def test_rejects_a_file_that_is_not_an_image(content: bytes, reason: str) -> None:
    with pytest.raises(DamagedImageError) as caught:
        complete_jpeg.prepare(content)
    assert str(caught.value) == f"cannot be decoded: {reason}"
