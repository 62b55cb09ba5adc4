"""What can fail while an image is built or pushed."""

__all__ = ["ImageError"]


class ImageError(Exception):
    """A build failed, or AWS cannot be reached or rejected a request; the text says what happened and what to do."""
