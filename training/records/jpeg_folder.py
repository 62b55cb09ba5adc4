"""The records of a split in ImageNet's extracted layout: a folder of JPEG files for each class."""

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.distributed import on_rank_zero, share
from ..runtime.errors import UserError
from . import fingerprint
from .numbered_records import Records
from .tfrecords import readable

if TYPE_CHECKING:
    import tensorflow as tf

_SUFFIXES = (".jpeg", ".jpg")

# Images that would be left out of training and accuracy without a word.
_OTHER_IMAGES = (".avif", ".bmp", ".gif", ".heic", ".jfif", ".png", ".tif", ".tiff", ".webp")


class JpegFolder(Records):
    """The files of `<folder>/<class>/`, in a fixed order that mixes the classes."""

    def __init__(self, folder: Path, classes: Sequence[str], files: Sequence[Sequence[str]]) -> None:
        self._folder, self._classes = folder, classes
        self.fingerprint = fingerprint.of_folders(folder.name, classes, files)
        # In the order of the names, a rank's share would have few of the classes.
        order = np.random.default_rng(0).permutation(sum(map(len, files)))
        # One array, not 1.3 million strings: 40 MB per rank, not 120.
        self._names = np.array([os.fsencode(name) for names in files for name in names], np.bytes_)[order]
        labels = np.repeat(np.arange(1, len(classes) + 1), [len(names) for names in files])
        self._labels = labels[order]

    def __len__(self) -> int:
        return len(self._names)

    def sizes(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return the sizes of the files."""
        return np.array([self._path(number).stat().st_size for number in numbers], np.int64)

    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Return the contents of the files."""
        contents = []
        for path in map(self._path, numbers):
            with readable(path):
                contents.append(path.read_bytes())
        return contents

    def parse(self, contents: "tf.Tensor", numbers: "tf.Tensor") -> "tuple[tf.Tensor, ...]":
        """Return the contents, which are the JPEGs, and the labels of the folders."""
        import tensorflow as tf

        return contents, tf.gather(self._label_tensor, numbers)

    def image(self, content: bytes, number: int) -> tuple[bytes, int]:
        """Return the content, which is the JPEG, and the label of the folder."""
        return content, int(self._labels[number])

    @cached_property
    def _label_tensor(self) -> "tf.Tensor":
        """The labels outside of any graph: in tf.data's they would be a constant of 10 MB."""
        import tensorflow as tf

        with tf.init_scope():
            return tf.constant(self._labels, tf.int64)

    def where(self, number: int) -> str:
        """Return the file."""
        return str(self._path(number))

    def _path(self, number: int) -> Path:
        name: str = os.fsdecode(self._names[number])
        return self._folder / self._classes[int(self._labels[number]) - 1] / name


def find(folder: Path, split: str) -> Path | None:
    """Return the folder of a split's classes, `train` and `validation` or `val`; None if it does not exist."""
    names = [split, "val"] if split == "validation" else [split]
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def load(folder: Path, split: str, *, classes: int) -> JpegFolder:
    """List a split's files, each rank a part of the classes; labels are the places in the sorted class folders.

    Raises:
        UserError: There are more classes than the network has outputs, a class without training images, no image, or
            one that is not a JPEG.
    """
    images, trained = on_rank_zero(lambda: _folders(folder, split, classes))
    files = share(lambda name: _files(images / name), trained)
    if not any(files):
        raise UserError(
            f"'--data-dir' is {folder}, whose folder {images.name} has no file *.JPEG in a class folder; add them"
        )
    empty = [name for name, found in zip(trained, files, strict=True) if not found]
    if empty and images.name == "train":
        raise UserError(
            f"'--data-dir' is {folder}, where {len(empty):,} of {len(trained):,} classes have no file *.JPEG in train, "
            f"such as {empty[0]}; add images, or remove the class"
        )
    return JpegFolder(images, trained, files)


def _folders(folder: Path, split: str, classes: int) -> tuple[Path, list[str]]:
    """Return the folder of a split, and the classes of training."""
    images, trained = find(folder, split), _classes(find(folder, "train"))
    given = f"'--data-dir' is {folder}"
    if images is None or not trained:
        raise UserError(f"{given}, which has no folders train/<class> and validation/<class>; give a folder with them")
    if len(trained) > classes:
        raise UserError(f"{given}, which has {len(trained)} classes, but '--classes' is {classes}; give {len(trained)}")
    if strangers := sorted(set(_classes(images)) - set(trained)):
        raise UserError(
            f"{given}, where {images.name}/{strangers[0]} is a class without a folder in train; add or remove it"
        )
    return images, trained


def _classes(folder: Path | None) -> list[str]:
    if folder is None:
        return []
    with readable(folder):
        return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))


def _files(folder: Path) -> list[str]:
    """List the files of a class; a class without a folder has no image in this split."""
    if not folder.is_dir():
        return []
    with readable(folder):
        names = [name for name in os.listdir(folder) if not name.startswith(".")]
    if others := [name for name in names if name.lower().endswith(_OTHER_IMAGES)]:
        raise UserError(
            f"'--data-dir' is {folder.parents[1]}, where {folder.parent.name}/{folder.name} has images that are no "
            f"JPEG, such as {min(others)}; convert them to JPEG, or move them elsewhere"
        )
    return sorted(name for name in names if name.lower().endswith(_SUFFIXES))
