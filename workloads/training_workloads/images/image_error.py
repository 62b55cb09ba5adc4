"""The failure of a build or a push of an image."""

__all__ = ["ImageError"]


class ImageError(Exception):
    """A build or a push failed; the text says what happened and what to do."""
