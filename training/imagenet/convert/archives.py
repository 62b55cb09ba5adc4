"""ImageNet's archives as they are downloaded: the program lists them and does not extract them.

Each image of an archive, or of its uncompressed inner archives, is a range of the outer file.
"""

import io
import os
import re
import tarfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from training.imagenet.convert.class_images import Image, Split, in_order
from training.runtime.errors import UserError

TRAIN = "ILSVRC2012_img_train.tar"
VALIDATION = "ILSVRC2012_img_val.tar"
DEVKIT = "ILSVRC2012_devkit_t12.tar.gz"

_BLOCK = tarfile.BLOCKSIZE

# A class becomes the name of a folder.
_SYNSET = re.compile(r"n\d{8}")
_VALIDATION_FILE = re.compile(r"ILSVRC2012_val_\d{8}\.JPEG")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive."""

    name: str
    offset: int
    """Bytes from the start of the outermost archive."""
    size: int
    """Bytes."""


def train(path: Path, workers: int) -> Split:
    """List the training images: the archive contains an archive for each class."""
    classes = [member for member in members(path) if member.name.endswith(".tar")]
    if not classes:
        raise UserError(f"{path} contains no archives such as n01440764.tar; give the archive of the training images")

    def images(archive: Member) -> list[Image]:
        synset = archive.name.removesuffix(".tar").rpartition("/")[2]
        inner = members(path, archive)
        return [
            Image(str(path), f"{archive.name}/{item.name}", item.offset, item.size, synset=synset) for item in inner
        ]

    # Threads: a cold file system takes much longer to read a million headers than Python to parse them.
    with ThreadPoolExecutor(workers) as pool:
        return in_order(path, [image for part in pool.map(images, classes) for image in part])


def validation(path: Path, devkit: Path) -> Split:
    """List the validation images, whose classes are in the development kit."""
    found = [Image(str(path), each.name, each.offset, each.size, synset="") for each in members(path)]
    return _with_classes(path, found, devkit)


def validation_files(folder: Path, devkit: Path) -> Split | None:
    """List the validation images in a folder, whatever else it has; None if it has none."""
    names = sorted(name for name in os.listdir(folder) if _VALIDATION_FILE.fullmatch(name))
    images = [Image(str(folder / name), synset="") for name in names]
    return _with_classes(folder, images, devkit) if images else None


def _with_classes(path: Path, found: list[Image], devkit: Path) -> Split:
    synsets, images = _validation_synsets(devkit), []
    for image in found:
        number = re.search(r"_(\d{8})\.JPEG$", image.name)
        if not number or not 1 <= int(number[1]) <= len(synsets):
            raise UserError(
                f"{path} contains {image.member or image.name}, but {devkit.name} has labels for the {len(synsets):,} "
                f"images ILSVRC2012_val_00000001.JPEG to _{len(synsets):08d}.JPEG; give the two archives of the same "
                "year"
            )
        images.append(replace(image, synset=synsets[int(number[1]) - 1]))
    if len(images) != len(synsets):
        raise UserError(
            f"{path} contains {len(images):,} images, but {devkit.name} has {len(synsets):,} labels; download it again"
        )
    return in_order(path, images)


def members(path: Path, within: Member | None = None) -> list[Member]:
    """List the files in an archive or in an inner archive, without hidden ones.

    Raises:
        UserError: It is not an archive, is cut off, or has a damaged header.
    """
    where = f"{path}: {within.name}" if within else str(path)
    start = within.offset if within else 0
    with path.open("rb", buffering=0) as file:
        end = start + within.size if within else file.seek(0, io.SEEK_END)
        file.seek(start)
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                # tarfile continues from an inner archive without an end into the outer one.
                found = [entry for entry in archive if entry.offset_data + entry.size <= end]
        except (tarfile.TarError, OSError) as error:
            raise UserError(f"{where} cannot be listed ({error}); download it again") from error
        # tarfile takes a damaged header for the end, but the end is a block of zeros.
        last = start if not found else found[-1].offset_data + -(-found[-1].size // _BLOCK) * _BLOCK
        file.seek(last)
        if last + _BLOCK > end or file.read(_BLOCK) != bytes(_BLOCK):
            after = f"after {found[-1].name}" if found else "at its start"
            raise UserError(f"{where} is damaged or cut off {after}; download it again")
    return [
        Member(entry.name, entry.offset_data, entry.size)
        for entry in found
        if entry.isfile() and not Path(entry.name).name.startswith(".")
    ]


def _validation_synsets(devkit: Path) -> list[str]:
    """Return the class of each validation image, by its number."""
    # Here: SciPy takes a second to import, and no other source needs it.
    from scipy.io import loadmat

    try:
        truth, meta = _read(devkit, "data/ILSVRC2012_validation_ground_truth.txt"), _read(devkit, "data/meta.mat")
        # One class alone is no array.
        entries = np.atleast_1d(loadmat(io.BytesIO(meta), squeeze_me=True)["synsets"])
        # The numbers are not in the order of the names: number 1 is not the first of the sorted synsets.
        names: Mapping[int, str] = {int(entry["ILSVRC2012_ID"]): str(entry["WNID"]) for entry in entries}
        return [_synset(names[int(line)], devkit) for line in truth.split()]
    except (tarfile.TarError, EOFError, OSError, KeyError, ValueError) as error:
        raise UserError(f"{devkit} cannot be read ({error}); download it again") from error


def _synset(name: str, archive: Path) -> str:
    if not _SYNSET.fullmatch(name):
        raise UserError(f"{archive} has the class {name!r}, but a class is n and 8 digits; download it again")
    return name


def _read(archive: Path, name: str) -> bytes:
    with tarfile.open(archive, "r:*") as devkit:
        found = next((entry for entry in devkit if entry.name.endswith(f"/{name}")), None)
        stream = found and devkit.extractfile(found)
        if not stream:
            raise KeyError(f"it contains no {name}")
        return stream.read()
