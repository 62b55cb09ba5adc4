"""The sizes of images in their headers: a small file may have an image that fills the memory when it is decoded."""

import struct

from .source_images import DamagedImageError

#: The largest image that is converted, unless `--max-megapixels` says otherwise; Pillow warns from 89 megapixels on. It
#: takes 300 MB of memory, and four times as much where it is resized.
MEGAPIXELS = 100


def check(width: int, height: int, megapixels: int) -> None:
    """Reject an image with too many pixels.

    Raises:
        DamagedImageError: It has more.
    """
    if width * height > megapixels * 10**6:
        raise DamagedImageError(
            f"has {width} x {height} pixels, but at most {megapixels:,} megapixels are decoded; give a larger "
            "'--max-megapixels' if this image is a good one"
        )


def size(content: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG, BMP or GIF; 0 and 0 where the header is none of these, or cut off.

    A decoder of GIF decodes every frame, so the height is that of all frames together.
    """
    try:
        if content.startswith(b"\x89PNG"):
            return struct.unpack_from(">II", content, 16)
        if content.startswith(b"BM"):
            width, height = struct.unpack_from("<ii", content, 18)
            # Negative where the lines are from top to bottom.
            return abs(width), abs(height)
    except struct.error:
        return 0, 0
    return _size_of_gif(content) if content.startswith(b"GIF8") else (0, 0)


def _size_of_gif(content: bytes) -> tuple[int, int]:
    """Return the largest width, and the sum of the heights: https://www.w3.org/Graphics/GIF/spec-gif89a.txt."""
    width, height = 0, 0
    try:
        screen_width, screen_height, flags = struct.unpack_from("<HHB", content, 6)
        width, height = screen_width, screen_height
        place = 13 + _table(flags)
        while content[place] in b"!,":
            if content[place] == ord("!"):
                place = _after_blocks(content, place + 2)
                continue
            frame_width, frame_height, flags = struct.unpack_from("<HHB", content, place + 5)
            width, height = max(width, frame_width), height + frame_height
            place = _after_blocks(content, place + 11 + _table(flags))
    except (IndexError, struct.error):
        # It is cut off: the frames before that are decoded.
        pass
    return width, height


def _table(flags: int) -> int:
    """Return the bytes of a table of colors."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_blocks(content: bytes, place: int) -> int:
    """Return the place behind blocks that each begin with their length; an empty one ends them."""
    while length := content[place]:
        place += length + 1
    return place + 1
