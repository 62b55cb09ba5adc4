"""What can fail while an image is built or pushed."""

__all__ = ["ImageError"]


class ImageError(Exception):
    """A build or a push failed; the text says what happened and what to do."""
