import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from tests.training.imagenet_data import example, jpeg, run_settings, write_shards
from training.imagenet.input_pipeline import Batch, InputPipeline, Settings, SyntheticPipeline
from training.records import epoch_order
from training.records.epoch_order import Order
from training.records.numbered_records import Records
from training.records.rank_records import open_split
from training.records.shard_files import index_path
from training.runtime.cores import data_threads
from training.runtime.errors import UserError

CLASSES = 3


def settings(**changes: Any) -> Settings:
    machine = {name: changes.pop(name) for name in ("threads", "device", "dali") if name in changes}
    run = run_settings(**{"image_size": 16, "classes": CLASSES, "min_crop_area": 0.08, **changes})
    return Settings(run=run, **{"threads": 2, **machine})


def open_train(folder: Path) -> Records:
    return open_split(folder, "train", classes=CLASSES)


def examples(count: int) -> list[bytes]:
    return [example(number, label=number % CLASSES + 1) for number in range(count)]


def order_of(numbers: Sequence[Sequence[int]]) -> Order:
    return Order(np.array(numbers, np.int64), np.ones(np.shape(numbers), np.float32))


def in_epoch(count: int, batch_size: int = 8, epoch: int = 0) -> Order:
    return epoch_order.training(count, (), batch_size=batch_size, rank=0, size=1, seed=0, epoch=epoch)


def arrays(batch: Batch) -> list[NDArray[Any]]:
    return [tensor.numpy() for tensor in batch]


def assert_same(batches: Sequence[list[NDArray[Any]]], others: Sequence[list[NDArray[Any]]]) -> None:
    assert len(batches) == len(others)
    for batch, other in zip(batches, others, strict=True):
        for array, other_array in zip(batch, other, strict=True):
            assert array.dtype == other_array.dtype
            np.testing.assert_array_equal(array, other_array)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_shards(tmp_path, examples(50), 3)
    return tmp_path


def rewrite(folder: Path, changes: dict[int, bytes], count: int = 50) -> None:
    """Replace some Examples by others with correct checksums."""
    contents = examples(count)
    for number, content in changes.items():
        contents[number] = content
    write_shards(folder, contents, 3)


def test_batches_have_images_labels_flips_and_weights(folder: Path) -> None:
    (batch,) = InputPipeline(open_train(folder), settings()).training(order_of([[0, 1, 2, 49, 7]]), epoch=0)
    assert [(tensor.shape.as_list(), tensor.dtype) for tensor in batch] == [
        ([5, 16, 16, 3], tf.uint8),
        ([5], tf.int32),
        ([5], tf.bool),
        ([5], tf.float32),
    ]
    assert batch.labels.numpy().tolist() == [0, 1, 2, 1, 1]
    assert batch.weights.numpy().tolist() == [1, 1, 1, 1, 1]


# 100: more than one chunk, and not a multiple of it.
@pytest.mark.parametrize(("count", "batch_size", "start"), [(50, 8, 3), (300, 100, 1)])
def test_a_resumed_epoch_has_the_same_batches_and_reads_no_earlier_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, batch_size: int, start: int
) -> None:
    write_shards(tmp_path, examples(count), 3)
    order = in_epoch(count, batch_size)
    whole = [arrays(batch) for batch in InputPipeline(open_train(tmp_path), settings()).training(order, epoch=0)]
    records = open_train(tmp_path)
    asked: list[int] = []
    read = records.read

    def recorded(numbers: Sequence[int]) -> list[bytes]:
        asked.extend(numbers)
        return read(numbers)

    monkeypatch.setattr(records, "read", recorded)
    resumed = [arrays(batch) for batch in InputPipeline(records, settings(threads=1)).training(order, 0, start)]
    assert_same(resumed, whole[start:])
    assert sorted(asked) == sorted(order.numbers[start:].ravel().tolist())


def test_another_epoch_or_seed_has_other_crops_and_flips(folder: Path) -> None:
    records, order = open_train(folder), order_of([range(50)])
    (first,) = InputPipeline(records, settings()).training(order, epoch=0)
    for pipeline, epoch in ((InputPipeline(records, settings()), 1), (InputPipeline(records, settings(seed=1)), 0)):
        (other,) = pipeline.training(order, epoch)
        assert (first.labels.numpy() == other.labels.numpy()).all()
        assert (first.flips.numpy() != other.flips.numpy()).any()
        assert (first.images.numpy() != other.images.numpy()).mean() > 0.8


def test_crops_and_flips_follow_the_settings(folder: Path) -> None:
    records, order = open_train(folder), order_of([range(50)])
    (usual,) = InputPipeline(records, settings()).training(order, epoch=0)
    (other,) = InputPipeline(records, settings(min_crop_area=0.9, mirror="off")).training(order, epoch=0)
    assert usual.flips.numpy().any()
    assert not other.flips.numpy().any()
    assert (usual.images.numpy() != other.images.numpy()).mean() > 0.8


@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_evaluation_has_every_image_once(folder: Path, size: int) -> None:
    records = open_train(folder)
    labels: list[int] = []
    images = []
    for rank in range(size):
        order = epoch_order.evaluation(50, batch_size=8, rank=rank, size=size)
        for batch in InputPipeline(records, settings()).evaluation(order):
            counted = batch.weights.numpy() == 1
            labels += batch.labels.numpy()[counted].tolist()
            images.append(batch.images.numpy()[counted])
            assert not batch.flips.numpy().any()
    assert labels == [number % 3 for number in range(50)]
    assert len(np.unique(np.concatenate(images), axis=0)) == 50


def test_reads_a_folder_of_jpegs(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "train" / name).mkdir(parents=True)
        for index in range(3):
            (tmp_path / "train" / name / f"{index}.JPEG").write_bytes(jpeg(index))
    records = open_train(tmp_path)
    (batch,) = InputPipeline(records, settings()).training(order_of([range(6)]), epoch=0)
    assert batch.labels.numpy().tolist() == [int("/b/" in records.where(number)) for number in range(6)]


# ------------------------------------------------------------------------------------------------------- damaged

ADVICE = "; copy or convert the file again, or give '--on-bad-data skip' to skip it"


def damage(folder: Path, number: int) -> None:
    """Change a byte in the middle of a record."""
    path, offset = place(folder, number)
    content = bytearray(path.read_bytes())
    content[offset + 100] ^= 1
    path.write_bytes(content)


def place(folder: Path, number: int) -> tuple[Path, int]:
    where = open_train(folder).where(number)
    return Path(where.split(":")[0]), int(where.rsplit(" ", 1)[1])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "does not match its checksum"),
        (example(20, label=4), "has the label 4, but labels are 1 to 3 with '--classes' 3"),
        (example(20, content=jpeg(20)[:500]), "has 500 bytes that should be a JPEG image, but does not decode"),
        (example(20, content=b"\x89PNG\r\n"), "has 6 bytes that should be a JPEG image, but is a PNG image"),
        (example(20, content=b""), "has no image/encoded, the bytes of a JPEG image"),
        (b"", "has no image/encoded, the bytes of a JPEG image"),
        (b"\xff\xff", "is not a tf.train.Example with an image and its label"),
    ],
)
def test_reports_the_place_of_a_damaged_record(folder: Path, content: bytes | None, reason: str) -> None:
    if content is None:
        damage(folder, 20)
    else:
        rewrite(folder, {20: content})
    path, offset = place(folder, 20)
    # 50 records in 3 shards: 17, 17 and 16.
    assert path.name == "train-00001-of-00003"
    order = in_epoch(50)
    step = int(np.argwhere(order.numbers == 20)[0][0])
    batches = InputPipeline(open_train(folder), settings()).training(order, epoch=0)
    for _ in range(step):
        next(batches)
    with pytest.raises(UserError) as caught:
        next(batches)
    assert str(caught.value) == f"{path}: record 3 at byte {offset} {reason}{ADVICE}"


def test_labels_that_count_from_0_are_not_skipped(folder: Path) -> None:
    rewrite(folder, {20: example(20, label=0)})
    with pytest.raises(UserError) as caught:
        list(InputPipeline(open_train(folder), settings(on_bad_data="skip")).training(in_epoch(50), epoch=0))
    path, offset = place(folder, 20)
    assert str(caught.value) == (
        f"{path}: record 3 at byte {offset} has the label 0, but labels are 1 to 3 with '--classes' 3; convert the "
        "dataset again, with labels that count from 1"
    )


def test_replaces_a_skipped_record_by_the_one_before_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = in_epoch(50)
    flat = order.numbers.ravel()
    # The first record, two adjacent ones, and the first record of a step after a damaged one.
    places = [0, 17, 18, 31, 32]
    kept = flat.copy()
    kept[[0, 17, 18, 31, 32]] = flat[[-1, 16, 16, 30, 30]]
    expected_order = order_of(kept.reshape(order.numbers.shape).tolist())
    expected = [arrays(each) for each in InputPipeline(open_train(folder), settings()).training(expected_order, 0)]

    damaged_jpeg = {int(flat[where]): example(0, content=b"nothing") for where in places[:2]}
    rewrite(folder, damaged_jpeg | {int(flat[18]): example(0, label=9)})
    for where in places[3:]:
        damage(folder, int(flat[where]))
    for start in (0, 2, 4):
        pipeline = InputPipeline(open_train(folder), settings(on_bad_data="skip"))
        assert_same([arrays(each) for each in pipeline.training(order, 0, start)], expected[start:])
        capsys.readouterr()
    pipeline = InputPipeline(open_train(folder), settings(on_bad_data="skip"))
    for _ in range(2):
        assert len(list(pipeline.training(order, 0))) == 6
    assert pipeline.skipped_records == {int(flat[where]) for where in places}
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: skipped: ")]
    assert len(warnings) == 5
    path, offset = place(folder, int(flat[0]))
    assert f"warning: skipped: {path}: record " in warnings[0]
    assert f" at byte {offset} has 7 bytes that should be a JPEG image, but does not decode" in warnings[0]


def test_an_evaluation_does_not_count_skipped_records(folder: Path) -> None:
    rewrite(folder, {20: example(20, label=4)})
    pipeline = InputPipeline(open_train(folder), settings(on_bad_data="skip"))
    batches = list(pipeline.evaluation(epoch_order.evaluation(50, batch_size=8, rank=0, size=1)))
    assert len(batches) == 7
    assert sum(batch.weights.numpy().sum() for batch in batches) == 49
    assert batches[2].weights.numpy().tolist() == [1, 1, 1, 1, 0, 1, 1, 1]
    assert pipeline.skipped_records == {20}


def test_a_rank_with_only_damaged_records_ends_the_run(folder: Path) -> None:
    rewrite(folder, {number: b"" for number in range(50)})
    pipeline = InputPipeline(open_train(folder), settings(on_bad_data="skip"))
    with pytest.raises(UserError, match="all records of this rank are damaged; convert the dataset again"):
        list(pipeline.training(in_epoch(50), epoch=0))


def test_a_deleted_shard_ends_the_run_even_with_skipping(folder: Path) -> None:
    records = open_train(folder)
    (folder / "train-00001-of-00003").unlink()
    with pytest.raises(UserError, match=r"train-00001-of-00003 cannot be read \(No such file or directory\)"):
        list(InputPipeline(records, settings(on_bad_data="skip")).training(in_epoch(50), epoch=0))


def test_reads_the_undamaged_records_of_a_truncated_shard(folder: Path) -> None:
    path = folder / "train-00001-of-00003"
    os.truncate(path, path.stat().st_size - 10)
    records = open_split(folder, "train", classes=CLASSES, skip_damaged=True)
    assert (len(records), records.damaged) == (49, 1)
    pipeline = InputPipeline(records, settings(on_bad_data="skip"))
    (batch,) = pipeline.training(order_of([[32, 33, 48]]), epoch=0)
    # Record 33, the last of the shard, is damaged; the numbers after it decrease by one.
    assert batch.labels.numpy().tolist() == [32 % 3, 34 % 3, 49 % 3]


# ---------------------------------------------------------------------------------------------------------- other


def test_copies_the_same_batches_to_a_device(folder: Path) -> None:
    order = in_epoch(50)
    expected = [arrays(batch) for batch in InputPipeline(open_train(folder), settings()).training(order, 0)]
    pipeline = InputPipeline(open_train(folder), settings(device="/CPU:0"))
    assert_same([arrays(batch) for batch in pipeline.training(order, 0)], expected)


def test_synthetic_batches_have_the_same_shape(folder: Path) -> None:
    order = epoch_order.evaluation(50, batch_size=8, rank=0, size=1)
    real = InputPipeline(open_train(folder), settings())
    synthetic = SyntheticPipeline(settings())
    for made, expected in (
        (synthetic.training(order, 0, 5), real.training(order, 0, 5)),
        (synthetic.evaluation(order), real.evaluation(order)),
    ):
        for one, other in zip(made, expected, strict=True):
            assert [(each.shape, each.dtype) for each in one] == [(each.shape, each.dtype) for each in other]
            np.testing.assert_array_equal(one.weights, other.weights)
            assert 0 <= one.labels.numpy().min() <= one.labels.numpy().max() < CLASSES
    assert synthetic.skipped_records == set()


def test_data_threads_are_the_variable_or_the_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(12)))
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    monkeypatch.delenv("TRAINING_DATA_THREADS", raising=False)
    assert (data_threads(1), data_threads(4)) == (12, 3)
    monkeypatch.setenv("TRAINING_DATA_THREADS", "7")
    assert data_threads(4) == 7
    for wrong in ("0", "-1", "many", ""):
        monkeypatch.setenv("TRAINING_DATA_THREADS", wrong)
        with pytest.raises(UserError, match=f"TRAINING_DATA_THREADS is '{wrong}'; give a whole number, 1 or more"):
            data_threads(1)


def test_reads_the_same_records_without_an_index(folder: Path, tmp_path: Path) -> None:
    order = in_epoch(50)
    expected = [arrays(batch) for batch in InputPipeline(open_train(folder), settings()).training(order, 0)]
    for shard in folder.glob("train-?????-of-?????"):
        index_path(shard).unlink()
    assert_same([arrays(batch) for batch in InputPipeline(open_train(folder), settings()).training(order, 0)], expected)
