import re
import struct

import pytest
import tensorflow as tf

from tests.training.imagenet import imagenet_archives
from training.records.conversion import complete_jpeg, image_header
from training.records.conversion.source_images import DamagedImageError

PIXELS = imagenet_archives.pixels(0, height=20, width=30)
JPEG = imagenet_archives.jpeg(0, height=20, width=30)
FRAME = b"," + struct.pack("<HHHHB", 0, 0, 6000, 6000, 0) + b"\x08\x02\x4c\x01\x00"
EXTENSION = b"!\xf9\x04\x00\x00\x00\x00\x00"
TABLE = bytes(range(12))


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0)


def bmp(width: int, height: int) -> bytes:
    return b"BM" + bytes(12) + struct.pack("<Iii", 40, width, height) + bytes(100)


def jpeg(width: int, height: int) -> bytes:
    """Return an image whose header says another size than it has."""
    start = JPEG.index(b"\xff\xc0") + 5
    return JPEG[:start] + struct.pack(">HH", height, width) + JPEG[start + 4 :]


def gif(*parts: bytes, flags: int = 0) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", 6000, 6000, flags, 0, 0) + b"".join(parts)


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (png(16000, 16000), (16000, 16000)),
        (bmp(20000, -10000), (20000, 10000)),
        (gif(FRAME, b";"), (6000, 12000)),
        # Each frame is decoded, also behind an extension and a table of colors.
        (gif(TABLE, EXTENSION, FRAME, FRAME, b";", flags=0x81), (6000, 18000)),
        (gif(FRAME, FRAME[:9]), (6000, 12000)),
        (gif(), (6000, 6000)),
        (png(16000, 16000)[:20], (0, 0)),
        (b"GIF89a", (0, 0)),
        (b"", (0, 0)),
        (b"something else", (0, 0)),
    ],
)
def test_the_size_is_that_of_the_header(content: bytes, size: tuple[int, int]) -> None:
    assert image_header.size(content) == size


def test_the_size_is_the_decoders() -> None:
    content = bytes(tf.io.encode_png(PIXELS).numpy())
    assert image_header.size(content) == (30, 20)
    assert complete_jpeg.prepare(content).height == 20


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (png(16000, 16000), "16000 x 16000"),
        (bmp(20000, -10000), "20000 x 10000"),
        (gif(FRAME, FRAME, b";"), "6000 x 18000"),
        (jpeg(65000, 65000), "65000 x 65000"),
    ],
)
def test_an_image_that_fills_the_memory_is_not_decoded(content: bytes, size: str) -> None:
    with pytest.raises(DamagedImageError, match=re.escape(f"has {size} pixels, but at most 100 megapixels")):
        complete_jpeg.prepare(content)


def test_the_limit_is_an_option() -> None:
    content = bytes(tf.io.encode_png(imagenet_archives.pixels(0, height=1000, width=1001)).numpy())
    assert complete_jpeg.prepare(content, megapixels=2).width == 1001
    message = "has 1001 x 1000 pixels, but at most 1 megapixels are decoded; give a larger '--max-megapixels' if this"
    with pytest.raises(DamagedImageError, match=message):
        complete_jpeg.prepare(content, megapixels=1)
