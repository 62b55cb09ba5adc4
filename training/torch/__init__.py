"""Exact resume for training loops of PyTorch."""

from .resumable_run import ResumableRun

__all__ = ["ResumableRun"]
