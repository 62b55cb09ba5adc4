from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from tests.training.imagenet_data import example, jpeg, run_settings, write_shards
from training.imagenet.decoded_images import Estimate, estimate
from training.imagenet.input_pipeline import InputPipeline, Settings
from training.records import epoch_order
from training.records.numbered_records import Records
from training.records.rank_records import open_split

CLASSES = 3
SIZES = [(300, 400), (400, 300), (256, 256), (40, 50), (600, 257)]


def photograph(number: int) -> bytes:
    """Return a smooth image: in noise, every shift by a part of a pixel is a large difference."""
    height, width = SIZES[number % len(SIZES)]
    small = np.random.default_rng(number).integers(256, size=(6, 8, 3))
    pixels = tf.image.resize(small, (height, width), method="bicubic")
    return bytes(tf.io.encode_jpeg(tf.saturate_cast(pixels, tf.uint8), quality=95).numpy())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    write_shards(folder, [example(number, number % CLASSES + 1, photograph(number)) for number in range(20)], 2)
    return folder


def open_train(folder: Path) -> Records:
    return open_split(folder, "train", classes=CLASSES)


def pipeline(records: Records, kept: range | None, **changes: Any) -> InputPipeline:
    machine = {name: changes.pop(name) for name in ("device", "dali") if name in changes}
    run = run_settings(**{"image_size": 64, "classes": CLASSES, "min_crop_area": 0.25, **changes})
    return InputPipeline(records, Settings(run=run, threads=2, **machine), kept)


def epoch_of(made: InputPipeline, epoch: int, start_step: int = 0) -> list[list[NDArray[Any]]]:
    order = epoch_order.training(20, (), batch_size=5, rank=0, size=1, seed=0, epoch=epoch)
    return [[tensor.numpy() for tensor in batch] for batch in made.training(order, epoch, start_step)]


def assert_same(batches: Sequence[list[NDArray[Any]]], others: Sequence[list[NDArray[Any]]]) -> None:
    for batch, other in zip(batches, others, strict=True):
        for array, other_array in zip(batch, other, strict=True):
            np.testing.assert_array_equal(array, other_array)


def test_a_later_epoch_reads_no_record_and_has_the_batches_of_a_run_that_resumes_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = open_train(folder)
    warm = pipeline(records, range(20))
    epoch_of(warm, 0)
    with monkeypatch.context() as patch:
        patch.setattr(records, "read", lambda numbers: [1 / 0] if numbers else [])
        later = epoch_of(warm, 1)
    # In the middle of the epoch, with nothing in memory.
    cold = epoch_of(pipeline(open_train(folder), range(20)), 1, 2)
    assert_same(later[2:], cold)
    # On another rank's range, which is read each time.
    assert_same(later, epoch_of(pipeline(open_train(folder), range(0)), 1))


def test_crops_are_those_of_the_original_image(folder: Path) -> None:
    records = open_train(folder)
    for kept, original in zip(
        epoch_of(pipeline(records, range(20)), 0), epoch_of(pipeline(records, None), 0), strict=True
    ):
        for array, expected in zip(kept[1:], original[1:], strict=True):
            np.testing.assert_array_equal(array, expected)
        difference = np.abs(kept[0].astype(int) - original[0].astype(int))
        # A crop of another place differs by 50 and more in the mean.
        assert difference.mean(axis=(1, 2, 3)).max() < 3


def test_an_evaluation_uses_the_kept_images_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records, order = open_train(folder), epoch_order.evaluation(20, batch_size=5, rank=0, size=1)
    made = pipeline(records, range(20))
    first = [[tensor.numpy() for tensor in batch] for batch in made.evaluation(order)]
    monkeypatch.setattr(records, "read", lambda numbers: [1 / 0] if numbers else [])
    second = [[tensor.numpy() for tensor in batch] for batch in made.evaluation(order)]
    assert_same(first, second)
    expected = [batch.images.numpy() for batch in pipeline(open_train(folder), None).evaluation(order)]
    for (images, *_), other in zip(first, expected, strict=True):
        assert np.abs(images.astype(int) - other.astype(int)).mean(axis=(1, 2, 3)).max() < 3


def test_a_skipped_record_is_replaced_in_every_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    examples = [example(number, 1, photograph(number)) for number in range(20)]
    examples[3], examples[7] = example(3, 1, b"nothing"), example(7, 9, photograph(7))
    # A PNG image is damage with each kind of cache.
    examples[11] = example(11, 1, tf.io.encode_png(np.zeros((30, 30, 3), np.uint8)).numpy())
    write_shards(tmp_path, examples, 2)
    made = pipeline(open_train(tmp_path), range(20), on_bad_data="skip")
    epoch_of(made, 0)
    assert made.skipped_records == {3, 7, 11}
    warm = epoch_of(made, 1)
    assert_same(warm, epoch_of(pipeline(open_train(tmp_path), range(20), on_bad_data="skip"), 1))
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: skipped: ")]
    assert len(warnings) == 6


def test_the_memory_is_estimated_from_the_headers(folder: Path, tmp_path: Path) -> None:
    # Reduced to 256 x 341, 341 x 256, 256 x 256 and 598 x 256; 40 x 50 stays.
    sizes = [256 * 341, 341 * 256, 256 * 256, 40 * 50, 598 * 256]
    assert estimate(open_train(folder), range(20)) == Estimate(4 * 3 * sum(sizes), reduced=True)
    assert estimate(open_train(folder), range(5, 7)).needed == 3 * 2 * 256 * 341
    assert estimate(open_train(folder), range(0)) == Estimate(0, reduced=False)
    # A part of many: the mean, and not less than the images need.
    write_shards(tmp_path, [example(0, 1, jpeg(0, 10 + number % 7, 10)) for number in range(1000)], 2)
    exact = sum(3 * 10 * (10 + number % 7) for number in range(1000))
    small = estimate(open_train(tmp_path), range(1000))
    assert exact < small.needed < 1.1 * exact
    assert not small.reduced
