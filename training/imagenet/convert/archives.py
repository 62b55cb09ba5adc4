"""ImageNet's archives, as they are downloaded: they are listed and not extracted.

Each image of an archive, or of an uncompressed archive within it, is a range of the outer file.
"""

import io
import re
import tarfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from training.imagenet.convert.images import Image, Split, in_order
from training.runtime.errors import UserError

TRAIN = "ILSVRC2012_img_train.tar"
VALIDATION = "ILSVRC2012_img_val.tar"
DEVKIT = "ILSVRC2012_devkit_t12.tar.gz"

_BLOCK = tarfile.BLOCKSIZE


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive."""

    name: str
    offset: int
    """Bytes from the start of the outermost archive."""
    size: int
    """Bytes."""


def train(path: Path, workers: int) -> Split:
    """Lists the training images: an archive of a class each in the archive."""
    classes = [member for member in members(path) if member.name.endswith(".tar")]
    if not classes:
        raise UserError(f"{path} holds no archives such as n01440764.tar; give the archive of the training images")

    def images(archive: Member) -> list[Image]:
        synset = archive.name.removesuffix(".tar").rpartition("/")[2]
        inner = members(path, archive)
        return [Image(synset, str(path), f"{archive.name}/{item.name}", item.offset, item.size) for item in inner]

    # Threads, since a cold file system takes much longer to bring a million headers than Python to read them.
    with ThreadPoolExecutor(workers) as pool:
        return in_order(path, [image for part in pool.map(images, classes) for image in part])


def validation(path: Path, devkit: Path) -> Split:
    """Lists the validation images, whose classes are in the development kit."""
    synsets, images = _validation_synsets(devkit), []
    for member in members(path):
        number = re.search(r"_(\d{8})\.JPEG$", member.name)
        if not number or not 1 <= int(number[1]) <= len(synsets):
            raise UserError(
                f"{path} holds {member.name}, but {devkit.name} has labels for the {len(synsets):,} images "
                f"ILSVRC2012_val_00000001.JPEG to _{len(synsets):08d}.JPEG; give the two archives of the same year"
            )
        images.append(Image(synsets[int(number[1]) - 1], str(path), member.name, member.offset, member.size))
    if len(images) != len(synsets):
        raise UserError(
            f"{path} holds {len(images):,} images, but {devkit.name} has {len(synsets):,} labels; download it again"
        )
    return in_order(path, images)


def members(path: Path, within: Member | None = None) -> list[Member]:
    """Lists the files in an archive, or in an archive within it, but no hidden ones.

    Raises:
        UserError: It is no archive, or ends too early, or a header in it is damaged.
    """
    where = f"{path}: {within.name}" if within else str(path)
    start = within.offset if within else 0
    with path.open("rb", buffering=0) as file:
        end = start + within.size if within else file.seek(0, io.SEEK_END)
        file.seek(start)
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                # tarfile runs from an inner archive without an end into the outer one.
                found = [entry for entry in archive if entry.offset_data + entry.size <= end]
        except (tarfile.TarError, OSError) as error:
            raise UserError(f"{where} cannot be listed ({error}); download it again") from error
        # It takes a damaged header for the end, which really is a block of zeros.
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
    """Returns the class of each validation image, by its number."""
    # Here, because SciPy takes a second that no other source needs.
    from scipy.io import loadmat

    try:
        truth, meta = _read(devkit, "data/ILSVRC2012_validation_ground_truth.txt"), _read(devkit, "data/meta.mat")
        entries = loadmat(io.BytesIO(meta), squeeze_me=True)["synsets"]
        # These numbers are not in the order of the names: number 1 is not the first of the sorted synsets.
        names: Mapping[int, str] = {int(entry["ILSVRC2012_ID"]): str(entry["WNID"]) for entry in entries}
        return [names[int(line)] for line in truth.split()]
    except (tarfile.TarError, EOFError, OSError, KeyError, ValueError) as error:
        raise UserError(f"{devkit} cannot be read ({error}); download it again") from error


def _read(archive: Path, name: str) -> bytes:
    with tarfile.open(archive, "r:*") as devkit:
        found = next((entry for entry in devkit if entry.name.endswith(f"/{name}")), None)
        stream = found and devkit.extractfile(found)
        if not stream:
            raise KeyError(f"there is no {name} in it")
        return stream.read()
