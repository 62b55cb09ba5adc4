"""The files of a dataset: shards such as `train-00000-of-01024`, each with an index."""

import errno
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime import listing
from ..runtime.errors import UserError
from ..runtime.files import private_folder, sync, write_atomically
from .tfrecords import FRAMING, listed_bounds

if TYPE_CHECKING:
    import tensorflow as tf

TRAIN, VALIDATION = "train", "validation"

# The number of names that a message shows.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one split."""

    paths: Sequence[Path]
    """In the order of their numbers."""
    missing: Sequence[str]
    """Names of the shards that do not exist."""


def shard_name(split: str, index: int, count: int) -> str:
    """Return the name of a shard; the first has index 0."""
    return f"{split}-{index:05d}-of-{count:05d}"


def index_path(shard: Path) -> Path:
    """Return the path of a shard's index: a line per record with its offset and its size with framing, in bytes."""
    return shard.with_name(f"{shard.name}.idx")


# ------------------------------------------------------------------------------------------------------------ find


def find(folder: Path, split: str, *, allow_missing: bool = False) -> Shards:
    """Find the shards of a split.

    Args:
        folder: Given as '--data-dir'.
        split: `TRAIN` or `VALIDATION`.
        allow_missing: Whether a few shards may be missing: one in a hundred, or one.

    Raises:
        UserError: All shards or too many are missing, or there are shards of two datasets.
    """
    if not folder.is_dir():
        raise UserError(f"'--data-dir' is {folder}, which is not a folder; give the folder with the shards")
    counts = _counts(folder, split)
    if not counts:
        raise UserError(_no_shards(folder, split))
    if len(counts) > 1:
        of = " and ".join(f"-of-{count:05d}" for count in sorted(counts))
        raise UserError(
            f"'--data-dir' is {folder}, which has {split} shards of {len(counts)} datasets: {of}; "
            "move the files of all but one into another folder"
        )
    (count,) = counts
    names = [shard_name(split, index, count) for index in range(count)]
    present = set(os.listdir(folder))
    missing = [name for name in names if name not in present]
    # More than a few are no damage, but a copy that has not ended.
    allowed = max(1, count // 100) if allow_missing else 0
    if len(missing) > allowed:
        limit = f" ('--on-bad-data skip' allows {allowed:,})" if allow_missing else ""
        raise UserError(
            f"'--data-dir' is {folder}, where {len(missing):,} of {count:,} {split} shards are missing{limit}: "
            f"{listing.first(missing, _SHOWN)}; copy or convert them again"
        )
    return Shards([folder / name for name in names if name not in set(missing)], missing)


def _counts(folder: Path, split: str) -> set[int]:
    """Return the numbers of shards in the shards' names: more than one number for several datasets."""
    found = (re.fullmatch(rf"{split}-\d{{5}}-of-(\d{{5}})", name) for name in os.listdir(folder))
    return {int(match[1]) for match in found if match}


def _no_shards(folder: Path, split: str) -> str:
    """Return the error of a folder without shards: its content, and the fix."""
    given = f"'--data-dir' is {folder}, which has no {split} shards such as {shard_name(split, 0, 1024)}"
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    if inside := [path for path in folders if any(_counts(path, name) for name in (TRAIN, VALIDATION))]:
        found = listing.first(inside, _SHOWN)
        return f"{given}, but shards are in {found}; give one folder with the shards of both splits"
    if any(re.fullmatch(r"n\d{8}(\.tar)?", path.name) for path in [*folder.iterdir(), *folder.glob("train/n*")]):
        return f"{given}, but images; convert them first: python -m training.imagenet.convert --help"
    if any((folder / name).exists() for name in ("train2017", "train2017.zip")):
        return f"{given}, but images; convert them first: python -m training.coco.convert --help"
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    return f"{given}, but {listing.first(names, _SHOWN) or 'no files'}; give the folder with the shards"


# ----------------------------------------------------------------------------------------------------------- write


def write_shard(
    path: Path, examples: Iterable[bytes], classes: int, labels: "Callable[[tf.Tensor], Iterable[int]]"
) -> int:
    """Write a shard and its index, read the shard back, and return its number of examples.

    A shard gets its name when it is complete and verified, and has its index.

    Args:
        path: The shard's path.
        examples: Serialized tf.train.Examples.
        classes: The largest allowed label.
        labels: Returns all labels of a batch of serialized examples.

    Raises:
        UserError: The shard cannot be written, or differs when it is read back.
    """
    import tensorflow as tf

    try:
        with private_folder(path) as folder:
            temporary = folder / path.name
            sizes = _write(temporary, examples)
            _check(path, *_read_back(temporary, labels), len(sizes), classes)
            # Before the shard gets its name: a shard needs its index.
            write_atomically(index_path(path), _index(sizes))
            temporary.replace(path)
        sync(path.parent)
    except (OSError, tf.errors.OpError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.message
        raise UserError(
            f"the shard {path} cannot be written ({reason}); free some space or fix the cause, "
            "then start again: the finished shards are kept"
        ) from error
    return len(sizes)


def _write(path: Path, examples: Iterable[bytes]) -> list[int]:
    """Return the records' sizes, with framing."""
    import tensorflow as tf

    sizes = []
    with tf.io.TFRecordWriter(str(path)) as writer:
        for content in examples:
            writer.write(content)
            sizes.append(len(content) + FRAMING)
    sync(path)
    return sizes


def _check(shard: Path, read: int, labels: Iterable[int], count: int, classes: int) -> None:
    """Compare the shard as it was read back with its examples."""
    wrong = next((label for label in labels if not 1 <= label <= classes), None)
    if read != count:
        raise UserError(
            f"the shard {shard} was written with {count:,} examples, but read back with {read:,}; "
            "check the disk, then start again"
        )
    if wrong is not None:
        raise UserError(
            f"the shard {shard} would have the label {wrong}, but labels are 1 to {classes}; "
            "check the classes of the source"
        )


def _read_back(path: Path, labels: "Callable[[tf.Tensor], Iterable[int]]") -> tuple[int, set[int]]:
    """Return the number of records, whose checksums TensorFlow verifies, and their labels."""
    import tensorflow as tf

    count, found = 0, set[int]()
    try:
        for batch in tf.data.TFRecordDataset(str(path)).batch(256):
            count += len(batch)
            found.update(labels(batch))
    except tf.errors.DataLossError as error:
        raise OSError(errno.EIO, "it differs when it is read back") from error
    return count, found


def _index(sizes: Iterable[int]) -> bytes:
    lines, offset = [], 0
    for size in sizes:
        lines.append(f"{offset} {size}\n")
        offset += size
    return "".join(lines).encode()


def count_examples(shard: Path) -> int | None:
    """Return the number of examples in a shard's index; None if a file is missing or the two do not match."""
    try:
        size = shard.stat().st_size
    except FileNotFoundError:
        return None
    bounds = listed_bounds(index_path(shard))
    return None if bounds is None or bounds[-1] != size else len(bounds) - 1
