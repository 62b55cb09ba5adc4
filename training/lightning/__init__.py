"""Exact resume for the Trainer of Lightning."""

from .resume_callback import ResumeCallback

__all__ = ["ResumeCallback"]
