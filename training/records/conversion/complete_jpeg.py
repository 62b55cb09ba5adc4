"""An image for a shard: a complete JPEG, grey or RGB, on which a decoder can rely."""

from dataclasses import dataclass

import tensorflow as tf

from . import image_header
from .source_images import DamagedImageError

_START, _END = b"\xff\xd8", b"\xff\xd9"

# For images that are not RGB JPEGs: almost lossless.
_QUALITY = 100

# For images that are resized. FFCV's tables use it too: https://ffcv.io, "ImageNet".
_RESIZED_QUALITY = 90


@dataclass(frozen=True, slots=True)
class Jpeg:
    """An image ready for a shard."""

    content: bytes
    height: int
    """Pixels."""
    width: int
    """Pixels."""


def prepare(content: bytes, short_side: int | None = None, *, megapixels: int = image_header.MEGAPIXELS) -> Jpeg:
    """Return a grey or RGB JPEG unchanged, and any other image re-encoded as RGB.

    Only images that need it are decoded. The header and the end marker of the others are checked; damage between them
    shows in training.

    Args:
        content: A JPEG (also CMYK), PNG, GIF or BMP, whatever the file name.
        short_side: Pixels; larger images are resized to it, smaller ones are not. None resizes no image.
        megapixels: The largest image that is accepted; the header says how large it is, before it is decoded.

    Raises:
        DamagedImageError: It cannot be decoded, or is too large.
    """
    try:
        return _prepare(content, short_side, megapixels)
    except tf.errors.InvalidArgumentError as error:
        raise DamagedImageError(f"cannot be decoded: {_reason(content)}") from error


def _reason(content: bytes) -> str:
    if not content:
        return "the file is empty"
    if content.startswith(_START):
        return "its JPEG data is damaged or cut off"
    return f"it begins with {content[:8]!r} and is not a complete JPEG, PNG, GIF or BMP"


def _prepare(content: bytes, short_side: int | None, megapixels: int) -> Jpeg:
    if content.startswith(_START):
        height, width, channels = (int(number) for number in tf.image.extract_jpeg_shape(content))
        image_header.check(width, height, megapixels)
        if channels != 4 and not _is_larger(height, width, short_side):
            if not content.endswith(_END):
                # The image is followed by something, or cut off: only the decoder knows.
                tf.io.decode_jpeg(content)
            return Jpeg(content, height, width)
    image_header.check(*image_header.size(content), megapixels)
    return _encode(tf.io.decode_image(content, channels=3, expand_animations=False), short_side)


def _encode(pixels: tf.Tensor, short_side: int | None) -> Jpeg:
    height, width, _ = pixels.shape
    quality = _QUALITY
    if short_side is not None and _is_larger(height, width, short_side):
        quality, scale = _RESIZED_QUALITY, short_side / min(height, width)
        height, width = round(height * scale), round(width * scale)
        # Area: each new pixel is the mean of the pixels that it covers, from 0 to 255 like them.
        pixels = tf.cast(tf.round(tf.image.resize(pixels, [height, width], "area")), tf.uint8)
    return Jpeg(tf.io.encode_jpeg(pixels, "rgb", quality).numpy(), height, width)


def _is_larger(height: int, width: int, short_side: int | None) -> bool:
    return short_side is not None and min(height, width) > short_side
