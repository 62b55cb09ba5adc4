"""A folder for each class with the images in it, as ImageNet is extracted for PyTorch."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from training.imagenet.convert.images import Image, Split, in_order
from training.runtime.errors import UserError


def read(place: Path, workers: int) -> Split:
    """Lists the images of a split.

    Raises:
        UserError: There are no folders, or other things than images in them.
    """
    entries = [entry for entry in os.scandir(place) if not entry.name.startswith(".")]
    classes = [entry.name for entry in entries if entry.is_dir()]
    if len(classes) < len(entries) or not classes:
        loose = next((entry.name for entry in entries if not entry.is_dir()), None)
        there = f"holds {loose}, which is no folder" if loose else "is empty"
        raise UserError(f"{place} {there}; give one folder for each class there, such as {place}/n01440764")
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(lambda synset: _class(place / synset), classes)
        return in_order(place, [image for part in parts for image in part])


def _class(folder: Path) -> list[Image]:
    # Hidden files are what file managers leave behind.
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    other = next((entry.name for entry in entries if not entry.is_file()), None)
    if other is not None or not entries:
        there = f"holds {other}, which is no image" if other is not None else "is empty"
        raise UserError(f"{folder} {there}; give the class's images there, and nothing else")
    return [Image(folder.name, entry.path) for entry in entries]
