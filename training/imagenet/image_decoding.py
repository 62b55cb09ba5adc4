"""The way from a JPEG to the network's input: crops as bytes on the CPU, floating point and flips on the device.

Crops and flips depend on the run's seed, the epoch and the record's number, and not on the rank that reads the image or
on the time.
"""

from collections.abc import Callable

import tensorflow as tf

from training.imagenet.crops_and_colors import ASPECT, ATTEMPTS, CENTRE, DEVIATION, MEAN, MIN_CROP_AREA

Window = Callable[[tf.Tensor], tf.Tensor]
"""Turns an image's height, width and channels into the part to use: top, left, height and width, int32."""

#: The short side of an image that is kept in memory, pixels: that of evaluations, and of published copies of ImageNet
#: that are made smaller in advance.
SHORT_SIDE = 256


def training_window(shape: tf.Tensor, number: tf.Tensor, key: int, min_crop_area: float = MIN_CROP_AREA) -> tf.Tensor:
    """Draw a random part of an image: top, left, height and width, int32.

    Args:
        shape: Height, width and channels, int32.
        number: The record's number, int64.
        key: The value of `pipeline.epoch_key`.
        min_crop_area: The smallest part of the image's area, above 0 to 1.
    """
    # min_object_covered is 0: TensorFlow's default of 0.1 would reject crops below 10 % of the area. The raw operation,
    # because its wrapper adds a seventh to the time of a small image.
    begin, extent, _ = tf.raw_ops.StatelessSampleDistortedBoundingBox(
        image_size=shape,
        bounding_boxes=tf.zeros([1, 0, 4]),
        min_object_covered=0.0,
        seed=tf.stack([tf.constant(key, tf.int64), number]),
        aspect_ratio_range=ASPECT,
        area_range=(min_crop_area, 1.0),
        max_attempts=ATTEMPTS,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.concat([begin[:2], extent[:2]], 0)


def evaluation_window(shape: tf.Tensor) -> tf.Tensor:
    """Return the central square: as a central crop of the image resized to a short side of 8/7 of the size.

    Args:
        shape: Height, width and channels, int32.
    """
    side = tf.cast(tf.round(CENTRE * tf.cast(tf.reduce_min(shape[:2]), tf.float32)), tf.int32)
    return tf.concat([(shape[:2] - side) // 2, [side, side]], 0)


def decode(jpeg: tf.Tensor, window: Window, size: int) -> tf.Tensor:
    """Decode a part of a JPEG.

    Args:
        jpeg: The file's content, a string.
        window: Chooses the part by the image's shape.
        size: Height and width of the result, pixels.

    Returns:
        uint8 (size x size x 3).
    """
    return _resized(tf.io.decode_and_crop_jpeg(jpeg, window(tf.io.extract_jpeg_shape(jpeg)), channels=3), size)


def decode_smaller(jpeg: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Decode a whole JPEG and reduce its short side to 256 pixels; a smaller image keeps its size.

    Returns:
        uint8 (height x width x 3), and the original's height and width, int32.
    """
    # By this operation, which rejects PNG images as `decode` does; the next one does not.
    original = tf.io.extract_jpeg_shape(jpeg)[:2]
    image = tf.io.decode_jpeg(jpeg, channels=3)
    shape = smaller_shape(original)

    def reduced() -> tf.Tensor:
        # antialias: a large image has many pixels for one of the result, and the usual filter reads four of them.
        return tf.cast(tf.image.resize(image, shape, antialias=True) + 0.5, tf.uint8)

    return tf.cond(tf.reduce_all(shape == original), lambda: image, reduced), original


def smaller_shape(original: tf.Tensor) -> tf.Tensor:
    """Return height and width of an image whose short side is reduced to 256 pixels."""
    scale = tf.minimum(1.0, SHORT_SIDE / tf.cast(tf.reduce_min(original), tf.float32))
    return tf.cast(tf.round(tf.cast(original, tf.float32) * scale), tf.int32)


def crop(pixels: tf.Tensor, original: tf.Tensor, window: Window, size: int) -> tf.Tensor:
    """Return a part of an image that is in memory, smaller than the original or of its size.

    Args:
        pixels: uint8 (height x width x 3).
        original: Height and width of the original, int32.
        window: Chooses the part by the original's shape, so that it is the part that `decode` decodes.
        size: Height and width of the result, pixels.

    Returns:
        uint8 (size x size x 3).
    """
    chosen, shape = window(tf.concat([original, [3]], 0)), tf.shape(pixels)[:2]
    scale = tf.cast(shape, tf.float32) / tf.cast(original, tf.float32)
    corners = tf.stack([chosen[:2], chosen[:2] + chosen[2:]])
    # To whole pixels: the operation for fractions (ScaleAndTranslate) takes five times as long as this resize.
    begin, end = tf.unstack(tf.cast(tf.round(tf.cast(corners, tf.float32) * scale), tf.int32))
    begin = tf.minimum(begin, shape - 1)
    extent = tf.maximum(end - begin, 1)
    return _resized(tf.slice(pixels, tf.concat([begin, [0]], 0), tf.concat([extent, [3]], 0)), size)


def to_float(images: tf.Tensor, mirrored: tf.Tensor | None, dtype: tf.DType) -> tf.Tensor:
    """Mirror and normalize a batch, inside the graph of the training step.

    This costs almost nothing on the device, and more than resizing on the CPU; and bytes are a quarter of the copy.

    Args:
        images: uint8 (batch x height x width x 3).
        mirrored: The images to mirror, bool (batch); None for none.
        dtype: Type of the result, which has mean 0 and deviation 1.
    """
    if mirrored is not None:
        images = tf.where(mirrored[:, tf.newaxis, tf.newaxis, tf.newaxis], tf.reverse(images, [2]), images)
    return tf.cast((tf.cast(images, tf.float32) - MEAN) / DEVIATION, dtype)


def _resized(image: tf.Tensor, size: int) -> tf.Tensor:
    """Resize, and round to the nearest byte."""
    resized = tf.raw_ops.ResizeBilinear(images=image[tf.newaxis], size=[size, size], half_pixel_centers=True)
    # A cast truncates; with the half it rounds. The sum stays below 256: bilinear values are between the pixels'.
    return tf.cast(resized[0] + 0.5, tf.uint8)
