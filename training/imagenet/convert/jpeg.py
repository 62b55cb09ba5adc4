"""What a decoder must be able to rely on: every image is a whole JPEG, grey or RGB."""

from dataclasses import dataclass

import tensorflow as tf

from training.imagenet.convert.images import DamagedImageError

_START, _END = b"\xff\xd8", b"\xff\xd9"

# Of images that are no RGB JPEGs: as good as lossless.
_QUALITY = 100

# Of images that are made smaller. FFCV's tables use it too: https://ffcv.io, "ImageNet".
_RESIZED_QUALITY = 90


@dataclass(frozen=True, slots=True)
class Jpeg:
    """An image ready for a shard."""

    content: bytes
    height: int
    """Pixels."""
    width: int
    """Pixels."""


def prepare(content: bytes, short_side: int | None = None) -> Jpeg:
    """Returns an image as it is where it is a grey or RGB JPEG, and re-encoded as RGB where it is not.

    An image is decoded only where that is needed. Of the others the header and the end marker are checked: damage
    between them shows when the image is used.

    Args:
        content: A JPEG (also CMYK), PNG, GIF or BMP, whatever the file's name says.
        short_side: Pixels; images with a longer one are made smaller, none larger. None keeps all as they are.

    Raises:
        DamagedImageError: It cannot be decoded.
    """
    try:
        return _prepare(content, short_side)
    except tf.errors.InvalidArgumentError as error:
        raise DamagedImageError(f"cannot be decoded: {_reason(content)}") from error


def _reason(content: bytes) -> str:
    if not content:
        return "the file is empty"
    if content.startswith(_START):
        return "its JPEG data is damaged or cut off"
    return f"it begins with {content[:8]!r} and is no whole JPEG, PNG, GIF or BMP"


def _prepare(content: bytes, short_side: int | None) -> Jpeg:
    if content.startswith(_START):
        height, width, channels = (int(number) for number in tf.image.extract_jpeg_shape(content))
        if channels != 4 and not _is_larger(height, width, short_side):
            if not content.endswith(_END):
                # Something follows the image, or its end is missing: only the decoder knows.
                tf.io.decode_jpeg(content)
            return Jpeg(content, height, width)
    return _encode(tf.io.decode_image(content, channels=3, expand_animations=False), short_side)


def _encode(pixels: tf.Tensor, short_side: int | None) -> Jpeg:
    height, width, _ = pixels.shape
    quality = _QUALITY
    if short_side is not None and _is_larger(height, width, short_side):
        quality, scale = _RESIZED_QUALITY, short_side / min(height, width)
        height, width = round(height * scale), round(width * scale)
        # Area: each new pixel is the mean of those that it covers, between 0 and 255 like them.
        pixels = tf.cast(tf.round(tf.image.resize(pixels, [height, width], "area")), tf.uint8)
    return Jpeg(tf.io.encode_jpeg(pixels, "rgb", quality).numpy(), height, width)


def _is_larger(height: int, width: int, short_side: int | None) -> bool:
    return short_side is not None and min(height, width) > short_side
