import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from training.digits import digit_images
from training.imagenet import digit_shards
from training.records import shard_files

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/class/synset": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits") / "shards"
    assert digit_shards.main(["--output-dir", str(folder), "--image-size", "32"]) == 0
    return folder


def read(folder: Path, split: str) -> list[dict[str, Any]]:
    paths = [str(path) for path in shard_files.find(folder, split).paths]
    examples = tf.data.TFRecordDataset(paths).map(lambda example: tf.io.parse_single_example(example, FEATURES))
    return list(examples.as_numpy_iterator())


def test_writes_every_digit_with_its_label(folder: Path) -> None:
    train, validation = read(folder, "train"), read(folder, "validation")
    assert (len(train), len(validation)) == (1437, 360)
    counts = np.bincount([example["image/class/label"] for example in train + validation])
    assert counts.tolist() == [0, 178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert {(example["image/class/label"], example["image/class/synset"]) for example in train} == {
        (label, f"digit-{label - 1}".encode()) for label in range(1, 11)
    }
    assert (folder / "synsets.txt").read_text().splitlines()[9] == "digit-9"


def test_the_images_are_the_digits(folder: Path) -> None:
    (first, *_) = read(folder, "validation")
    image = tf.io.decode_jpeg(first["image/encoded"]).numpy()
    assert (image.shape, first["image/height"]) == ((32, 32, 3), 32)
    data = digit_images.load()
    assert first["image/class/label"] == data.test_labels[0] + 1
    small = tf.image.resize(image, [8, 8], "area").numpy()[..., 0] / 255
    assert np.abs(small - data.test_images[0, ..., 0]).mean() < 0.1


def test_writes_the_given_number_of_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--output-dir", str(tmp_path), "--train-shards", "2", "--validation-shards", "1", "--image-size", "8"]
    assert digit_shards.main(arguments) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "conversion.json",
        "synsets.txt",
        "train-00000-of-00002",
        "train-00000-of-00002.idx",
        "train-00001-of-00002",
        "train-00001-of-00002.idx",
        "validation-00000-of-00001",
        "validation-00000-of-00001.idx",
    ]
    assert capsys.readouterr().out == (
        "train: 1,437 images of 10 classes in 2 shards\nvalidation: 360 images of 10 classes in 1 shards\n"
    )
    assert json.loads((tmp_path / "conversion.json").read_text())["the data"] == "digits"
    assert digit_shards.main(["--output-dir", str(tmp_path)]) == 2
    assert "'--train-shards' was 2 and is 8 now" in capsys.readouterr().err


def test_rejects_more_shards_than_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert digit_shards.main(["--output-dir", str(tmp_path), "--validation-shards", "361"]) == 2
    assert capsys.readouterr().err == "error: '--validation-shards' is 361; give 360 or less\n"
