import re
import subprocess
import sys
from pathlib import Path

import tensorflow as tf

from training.imagenet import imagenet_example


def encode() -> bytes:
    return imagenet_example.encode(
        jpeg=b"\xff\xd8\xff\xd9", label=7, synset="n01514668", filename="n01514668_1.JPEG", height=375, width=500
    )


def test_has_the_features_of_tensorflow_s_scripts() -> None:
    found = tf.train.Example.FromString(encode()).features.feature
    values = {name: [*feature.bytes_list.value, *feature.int64_list.value] for name, feature in found.items()}
    assert values == {
        "image/encoded": [b"\xff\xd8\xff\xd9"],
        "image/class/label": [7],
        "image/class/synset": [b"n01514668"],
        "image/filename": [b"n01514668_1.JPEG"],
        "image/height": [375],
        "image/width": [500],
        "image/format": [b"JPEG"],
        "image/colorspace": [b"RGB"],
        "image/channels": [3],
    }


def test_an_example_has_the_same_bytes_in_every_process() -> None:
    names = [name.decode() for name in re.findall(rb"image/[a-z/]+", encode())]
    assert names == [
        "image/channels",
        "image/class/label",
        "image/class/synset",
        "image/colorspace",
        "image/encoded",
        "image/filename",
        "image/format",
        "image/height",
        "image/width",
    ]


def test_the_names_do_not_import_tensorflow() -> None:
    code = "import sys, training.imagenet.imagenet_example; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=True, timeout=60)
