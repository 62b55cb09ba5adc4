"""The records of a split that lies as ImageNet is unpacked: a folder of JPEG files for each class."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from training.records.numbered_records import Records, Team
from training.records.tfrecords import readable
from training.runtime.errors import UserError

_SUFFIXES = (".jpeg", ".jpg")


class JpegFolder(Records):
    """Files of `<folder>/<class>/`, in an order that mixes the classes and is always the same."""

    def __init__(self, folder: Path, classes: Sequence[str], files: Sequence[Sequence[str]]) -> None:
        self._folder, self._classes = folder, classes
        # Side by side in name order would be images of one class, and a rank's share would hold few of the classes.
        order = np.random.default_rng(0).permutation(sum(map(len, files)))
        # One array and not 1.3 million strings: 40 MB a rank and not 120.
        self._names = np.array([os.fsencode(name) for names in files for name in names], np.bytes_)[order]
        labels = np.repeat(np.arange(1, len(classes) + 1), [len(names) for names in files])
        self._labels = labels[order]
        # A tensor of its own: within tf.data's graph it would be a constant of 10 MB.
        self._label_tensor = tf.constant(self._labels, tf.int64)

    def __len__(self) -> int:
        return len(self._names)

    def sizes(self, numbers: Sequence[int]) -> np.ndarray:
        """Asks the file system."""
        return np.array([self._path(number).stat().st_size for number in numbers], np.int64)

    def read(self, numbers: Sequence[int]) -> list[bytes]:
        """Reads whole files."""
        contents = []
        for path in map(self._path, numbers):
            with readable(path):
                contents.append(path.read_bytes())
        return contents

    def parse(self, contents: tf.Tensor, numbers: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The files are the JPEGs; the labels follow from the folders."""
        return contents, tf.gather(self._label_tensor, numbers)

    def where(self, number: int) -> str:
        """Names the file."""
        return str(self._path(number))

    def _path(self, number: int) -> Path:
        return self._folder / self._classes[self._labels[number] - 1] / os.fsdecode(self._names[number])


def find(folder: Path, split: str) -> Path | None:
    """Returns the folder of a split's classes, `train` and `validation` or `val`; None where there is none."""
    names = [split, "val"] if split == "validation" else [split]
    return next((folder / name for name in names if (folder / name).is_dir()), None)


def load(folder: Path, split: str, *, team: Team, classes: int) -> JpegFolder:
    """Lists a split's files, each rank a part of the classes; labels are the places of the sorted class folders.

    Raises:
        UserError: There are more classes than the network has outputs, others than in training, or no image.
    """
    images, trained = team.first(lambda: _folders(folder, split, classes))
    files = team.share(lambda name: _files(images / name), trained)
    if not any(files):
        raise UserError(
            f"'--data-dir' is {folder}, whose folder {images.name} holds no file *.JPEG in a folder of a class; "
            "add them"
        )
    return JpegFolder(images, trained, files)


def _folders(folder: Path, split: str, classes: int) -> tuple[Path, list[str]]:
    """Finds the folder of a split, and the classes of training."""
    images, trained = find(folder, split), _classes(find(folder, "train"))
    given = f"'--data-dir' is {folder}"
    if images is None or not trained:
        raise UserError(f"{given}, which holds no folders train/<class> and validation/<class>; give one that does")
    if len(trained) > classes:
        raise UserError(
            f"{given}, which holds {len(trained)} classes, but '--classes' is {classes}; give {len(trained)}"
        )
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
    """Lists a class; a class without a folder has no image in this split."""
    if not folder.is_dir():
        return []
    with readable(folder):
        return sorted(name for name in os.listdir(folder) if name.lower().endswith(_SUFFIXES))
