"""Exact resume of `model.fit`: one callback for Keras 2, alone, with Horovod or with `tf.distribute`."""

from .resume_callback import ResumeCallback

__all__ = ["ResumeCallback"]
