"""A tiny ImageNet: the archives as they are downloaded, and their extracted folders."""

import base64
import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.io
import tensorflow as tf
from numpy.typing import NDArray

SYNSETS = ("n01440764", "n02105855", "n07742313")

# The development kit's numbers are not in the order of the names, and some of its synsets have no images.
DEVKIT_IDS = {1: "n07742313", 2: "n01440764", 3: "n02105855", 4: "n00001740"}

# Of the six validation images, in the order of their numbers.
TRUTH = (1, 3, 2, 2, 1, 3)

# 12 x 9 pixels of one colour, about (220, 51, 196) in RGB.
CMYK = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwANCQoLCggNCwoLDg4NDxMgFRMSEhMnHB4XIC4pMTAuKS0sMzpKPjM2RjcsLUBXQUZMTlJT"
    "UjI+WmFaUGBKUVJP/8AAFAgACQAMBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAAGB//EABQQAQAAAAAAAAAAAAAA"
    "AAAAAAD/2gAOBEMATQBZAEsAAD8Av0kr2kAAAAP/2Q=="
)


def pixels(seed: int, height: int = 20, width: int = 30, channels: int = 3) -> NDArray[Any]:
    """Return a smooth image: a JPEG would change noise."""
    corners = np.random.default_rng(seed).integers(0, 256, (1, 2, 2, channels))
    image: NDArray[Any] = tf.cast(tf.image.resize(corners, [height, width])[0], tf.uint8).numpy()
    return image


def jpeg(seed: int, **shape: int) -> bytes:
    return bytes(tf.io.encode_jpeg(pixels(seed, **shape)).numpy())


def train_images() -> dict[str, bytes]:
    """Return 21 images by class and name: one is a PNG and one CMYK, as in ImageNet, and one is grey."""
    images = {
        f"{synset}/{synset}_{number}.JPEG": jpeg(100 * place + number, height=20 + number)
        for place, synset in enumerate(SYNSETS)
        for number in range(7)
    }
    images["n02105855/n02105855_3.JPEG"] = bytes(tf.io.encode_png(pixels(1)).numpy())
    images["n07742313/n07742313_4.JPEG"] = CMYK
    images["n01440764/n01440764_5.JPEG"] = jpeg(2, channels=1)
    return images


def validation_images() -> dict[str, bytes]:
    """Return six images by name."""
    return {f"ILSVRC2012_val_{number:08d}.JPEG": jpeg(1000 + number) for number in range(1, 7)}


def tar(contents: Mapping[str, bytes], mode: Literal["w", "w:gz"] = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def devkit(ids: Mapping[int, str] = DEVKIT_IDS, truth: Sequence[int] = TRUTH) -> bytes:
    kind = np.dtype([("ILSVRC2012_ID", object), ("WNID", object), ("num_children", object)])
    entries = np.array([[(number, synset, int(number > 3))] for number, synset in ids.items()], kind)
    meta = io.BytesIO()
    scipy.io.savemat(meta, {"synsets": entries})
    numbers = "".join(f"{number}\n" for number in truth).encode()
    folder = "ILSVRC2012_devkit_t12"
    contents = {
        f"{folder}/readme.txt": b"",
        f"{folder}/data/meta.mat": meta.getvalue(),
        f"{folder}/data/ILSVRC2012_validation_ground_truth.txt": numbers,
    }
    return tar(contents, "w:gz")


def class_archives(images: Mapping[str, bytes]) -> dict[str, bytes]:
    parts: dict[str, dict[str, bytes]] = {}
    for path, content in images.items():
        synset, name = path.split("/")
        parts.setdefault(synset, {})[name] = content
    # Not in the order of their names.
    return {f"{synset}.tar": tar(parts[synset]) for synset in reversed(parts)}


def write_archives(folder: Path, images: Mapping[str, bytes] | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "ILSVRC2012_img_train.tar").write_bytes(tar(class_archives(images or train_images())))
    (folder / "ILSVRC2012_img_val.tar").write_bytes(tar(validation_images()))
    (folder / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(devkit())
    return folder


def write_folders(folder: Path) -> Path:
    images = {f"train/{path}": content for path, content in train_images().items()}
    for truth, (name, content) in zip(TRUTH, validation_images().items(), strict=True):
        images[f"val/{DEVKIT_IDS[truth]}/{name}"] = content
    for path, content in images.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder
