"""Decoding on the GPU by NVIDIA DALI, for nodes whose CPUs do not feed their GPUs: `--decode gpu`.

Only the decoding and the resize: records, order, crops and skipped records are those of the CPU. It was tested with
DALI's operators for the CPU; on a GPU it has not run.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.imagenet.image_work import Batch, EncodedBatch
from training.runtime.errors import UserError


class GpuDecoder:
    """Decodes and resizes the parts of a batch's images."""

    def __init__(self, *, size: int, threads: int, device: str | None) -> None:
        """Check that DALI is installed.

        Args:
            size: Height and width of the result, pixels.
            threads: Threads of DALI; nvJPEG decodes a part of the JPEG's stream in them.
            device: "/GPU:0", or None for the CPU.

        Raises:
            UserError: DALI is not installed.
        """
        try:
            import nvidia.dali
        except ImportError as error:
            raise UserError(
                "'--decode gpu' needs NVIDIA DALI, which is not installed; install requirements/dali.txt into the "
                "image, or give '--decode cpu'"
            ) from error
        self._dali = nvidia.dali
        self._size, self._threads, self._device = size, threads, device

    def batches(self, encoded: Iterable[EncodedBatch]) -> Iterator[Batch]:
        """Yield the decoded batches.

        Raises:
            tf.errors.InvalidArgumentError: An image of the batch does not decode.
        """
        pipeline: Any = None
        before: EncodedBatch | None = None
        source = iter(encoded)
        while True:
            try:
                batch = next(source)
            except StopIteration:
                break
            except (tf.errors.OpError, UnicodeDecodeError):
                # The error of the next batch: the caller counts batches to find its damaged record.
                if before is not None:
                    yield self._decoded(pipeline, before)
                raise
            pipeline = pipeline or self._pipeline(len(batch.labels))
            ready = None if before is None else self._decoded(pipeline, before)
            # The decoding of this batch overlaps with the step that takes the one before.
            self._start(pipeline, batch)
            before = batch
            if ready is not None:
                yield ready
        if before is not None:
            yield self._decoded(pipeline, before)

    def _pipeline(self, batch_size: int) -> Any:
        """Return DALI's graph."""
        from nvidia.dali import fn, types
        from nvidia.dali.pipeline import Pipeline

        on_gpu = self._device is not None
        # A rank sees its own GPU only, the first one.
        made = Pipeline(
            batch_size=batch_size,
            num_threads=self._threads,
            device_id=0 if on_gpu else None,
            # One batch at a time: `batches` starts the next one.
            prefetch_queue_depth=1,
        )
        with made:
            jpegs = fn.external_source(name="jpegs", dtype=types.UINT8, ndim=1)
            start, shape = (fn.external_source(name=name, dtype=types.INT32, ndim=1) for name in ("start", "shape"))
            # As TensorFlow: colours of half resolution are interpolated.
            images = fn.decoders.image_slice(
                jpegs,
                device="mixed" if on_gpu else "cpu",
                start=start,
                shape=shape,
                axes=[0, 1],
                output_type=types.RGB,
                jpeg_fancy_upsampling=True,
            )
            size = [self._size, self._size]
            # As `image_decoding` resizes: without an anti-aliasing filter.
            made.set_outputs(fn.resize(images, size=size, interp_type=types.INTERP_LINEAR, antialias=False))
        made.build()
        return made

    def _start(self, pipeline: Any, batch: EncodedBatch) -> None:
        windows: NDArray[np.int32] = batch.windows.numpy()
        pipeline.feed_input("jpegs", [np.frombuffer(jpeg, np.uint8) for jpeg in batch.jpegs.numpy()])
        pipeline.feed_input("start", list(windows[:, :2]))
        pipeline.feed_input("shape", list(windows[:, 2:]))
        pipeline.schedule_run()

    def _decoded(self, pipeline: Any, batch: EncodedBatch) -> Batch:
        try:
            # Waits for the GPU; the arrays stay valid as long as something refers to them.
            (images,) = pipeline.share_outputs()
            pixels = images.as_tensor()
            made = self._tensor(pixels)
            pipeline.release_outputs()
        except RuntimeError as error:
            # As TensorFlow's decoder reports it.
            raise tf.errors.InvalidArgumentError(None, None, f"DALI: {error}") from error
        with tf.device(self._device):
            others = [tf.identity(each) for each in (batch.labels, batch.flips, batch.weights)]
        return Batch(made, *others)

    def _tensor(self, pixels: Any) -> tf.Tensor:
        """Return TensorFlow's own copy: DALI uses the memory again."""
        if self._device is None:
            return tf.constant(np.array(pixels))
        with tf.device(self._device):
            shared = tf.experimental.dlpack.from_dlpack(pixels.__dlpack__())
            # An operation that computes: `tf.identity` would refer to the same memory.
            copied = tf.bitwise.bitwise_or(shared, tf.zeros([], tf.uint8))
        # A value on the host, so that the copy has ended before DALI uses the memory again.
        copied[0, 0, 0, 0].numpy()
        return copied
