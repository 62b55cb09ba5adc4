"""Id, height and width of each image of a shard, in a file beside it: with it a run puts images into buckets.

A line per record, such as "139 426 640".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.records.shard_files import count_examples
from training.runtime.files import write_atomically


def path_of(shard: Path) -> Path:
    """Return the path of a shard's sizes."""
    return shard.with_name(f"{shard.name}.sizes")


def write(shard: Path, sizes: Sequence[tuple[int, int, int]]) -> None:
    """Write the ids, heights and widths of a shard's records."""
    lines = "".join(f"{image_id} {height} {width}\n" for image_id, height, width in sizes)
    write_atomically(path_of(shard), lines.encode())


def read(shard: Path) -> NDArray[Any] | None:
    """Return the ids, heights and widths of a shard's records (records x 3); None without a valid file."""
    try:
        found = np.array(path_of(shard).read_bytes().split(), np.int64).reshape(-1, 3)
    except (OSError, ValueError, OverflowError):
        return None
    return found if (found[:, 1:] > 0).all() else None


def are_complete(shard: Path) -> bool:
    """Return whether the file has a line for each record of the shard's index."""
    sizes = read(shard)
    return sizes is not None and len(sizes) == count_examples(shard)
