"""Exact resume for the Trainer of Hugging Face's Transformers."""

from .resume_callback import ResumeCallback

__all__ = ["ResumeCallback"]
