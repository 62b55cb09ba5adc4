from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.coco import coco_data
from tests.training.imagenet_data import framed
from training.coco import coco_example, coco_records, object_masks, run_images, segmentation
from training.coco.batches import Batch, BatchPipeline, Settings
from training.coco.coco_example import RecordedObject
from training.coco.coco_records import CocoRecords
from training.coco.padded_shapes import PaddedShapes
from training.records import epoch_order, rank_records, run_data
from training.records.run_data import Data
from training.records.shard_files import index_path
from training.runtime.errors import RankError, UserError
from training.runtime.position import Position, Segment

SHAPES = PaddedShapes(64, 107)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coco_data.converted_shapes(tmp_path_factory.mktemp("shapes"), 80)


def settings(**changed: Any) -> Settings:
    return replace(Settings(shapes=SHAPES, classes=4, threads=1), **changed)


def opened(folder: Path, split: str = "train") -> CocoRecords:
    return coco_records.load(folder, split, skip_damaged=False)


def pipeline(folder: Path, split: str = "train", **changed: Any) -> BatchPipeline:
    return BatchPipeline(opened(folder, split), settings(**changed))


def every(source: BatchPipeline, epoch: int = 0, batch_size: int = 1, **share: int) -> list[Batch]:
    rank = {"rank": 0, "size": 1} | share
    order = epoch_order.training(
        len(source.buckets), (), buckets=source.buckets, batch_size=batch_size, seed=0, epoch=epoch, **rank
    )
    return list(source.training(order, epoch))


# -------------------------------------------------------------------------------------------- images and objects


def pasted(box: Sequence[float], mask: Any, shape: tuple[int, int]) -> Any:
    """Return the pixels whose centre is in a cell of the object: a plain definition."""
    y1, x1, y2, x2 = box
    rows = np.floor((np.arange(shape[0]) + 0.5 - y1) / (y2 - y1) * 112).astype(int)
    columns = np.floor((np.arange(shape[1]) + 0.5 - x1) / (x2 - x1) * 112).astype(int)
    inside = ((rows >= 0) & (rows < 112))[:, np.newaxis] & ((columns >= 0) & (columns < 112))
    return inside & (mask[np.clip(rows, 0, 111)][:, np.clip(columns, 0, 111)] == 1)


def single(tmp_path: Path, pixels: Any, objects: Sequence[RecordedObject], name: str = "train") -> CocoRecords:
    """Write a shard with one image, and open it."""
    height, width, _ = pixels.shape
    jpeg = bytes(tf.io.encode_jpeg(pixels, quality=100).numpy())
    return write(tmp_path, [example(jpeg, height, width, objects)], [(7, height, width)], name)


def example(jpeg: bytes, height: int, width: int, objects: Sequence[RecordedObject] = ()) -> bytes:
    return coco_example.encode(jpeg=jpeg, image_id=7, height=height, width=width, objects=objects)


def write(folder: Path, examples: Sequence[bytes], sizes: Sequence[tuple[int, ...]], split: str) -> CocoRecords:
    shard = folder / f"{split}-00000-of-00001"
    shard.write_bytes(b"".join(map(framed, examples)))
    index_path(shard).unlink(missing_ok=True)
    (folder / f"{shard.name}.sizes").write_text("".join(f"{a} {b} {c}\n" for a, b, c in sizes))
    return opened(folder, split)


def drawn() -> tuple[Any, RecordedObject]:
    """Return a black image with a white triangle, whose left half is empty, and its object."""
    height, width = 90, 150
    inside = segmentation.rasterized([[60, 20, 130, 70, 60, 70]], height, width)
    box = (20.0, 60.0, 70.0, 130.0)
    recorded = RecordedObject(box, 2, float(inside.sum()), object_masks.packed(inside, box))
    return np.repeat(inside[..., np.newaxis] * np.uint8(255), 3, axis=2), recorded


@pytest.mark.parametrize("short", [40, 128])
def test_a_mask_covers_its_object_after_resize_mirror_and_padding(tmp_path: Path, short: int) -> None:
    pixels, recorded = drawn()
    source = BatchPipeline(single(tmp_path, pixels, [recorded]), settings(shapes=PaddedShapes(short, 2 * short)))
    mirrored: set[bool] = set()
    for epoch in range(8):
        (batch,) = every(source, epoch)
        image = batch.images[0].numpy()
        height, width = batch.sizes[0].numpy()
        assert (height, width) == (short, round(short * 150 / 90))
        assert not image[height:].any()
        assert not image[:, width:].any()
        box = batch.boxes[0, 0].numpy()
        found = pasted(box, batch.masks[0, 0].numpy(), image.shape[:2])
        white = image[..., 0] > 127
        # Pixels of the edge differ: about one in twenty.
        assert (found & white).sum() / (found | white).sum() > 0.9
        scale = short / 90
        expected = np.array([20, 60, 70, 130]) * [scale, width / 150, scale, width / 150]
        is_mirrored = box[1] < expected[1] - 1
        if is_mirrored:
            expected[[1, 3]] = width - expected[[3, 1]]
        assert np.abs(box - expected).max() < 1e-4
        mirrored.add(bool(is_mirrored))
        # Each epoch builds its pipeline again.
        if len(mirrored) == 2:
            return
    raise AssertionError(f"in 8 epochs the image is mirrored always or never: {mirrored}")


def test_rows_without_an_object_are_0(shards: Path) -> None:
    seen = set()
    for batch in every(pipeline(shards), batch_size=2):
        no_object = batch.labels.numpy() == 0
        assert not batch.boxes.numpy()[no_object].any()
        assert not batch.masks.numpy()[batch.labels.numpy() <= 0].any()
        objects = batch.boxes.numpy()[~no_object]
        assert (objects[:, 2:] > objects[:, :2]).all()
        seen |= set(batch.labels.numpy().ravel().tolist())
    assert seen == {-1, 0, 1, 2, 3, 4}


def test_an_image_with_more_objects_keeps_the_first_100(tmp_path: Path) -> None:
    pixels, recorded = drawn()
    many = [RecordedObject((0.0, 0.0, 1.0 + each, 5.0), 1, 1.0, recorded.mask) for each in range(120)]
    source = BatchPipeline(single(tmp_path, pixels, many), settings(mirror=False, shapes=PaddedShapes(90, 150)))
    (batch,) = every(source)
    assert batch.labels.numpy().tolist() == [[1] * 100]
    assert batch.boxes.numpy()[0, :, 2].tolist() == [1.0 + each for each in range(100)]
    assert (batch.masks.numpy()[0] == batch.masks.numpy()[0, 0]).all()


def test_the_types_are_those_of_the_contract(shards: Path) -> None:
    batch = every(pipeline(shards), batch_size=3)[0]
    found = {name: (value.dtype.name, value.shape.as_list()) for name, value in batch._asdict().items()}
    height, width = batch.images.shape[1:3]
    assert (height, width) in SHAPES.shapes
    assert found == {
        "images": ("uint8", [3, height, width, 3]),
        "sizes": ("int32", [3, 2]),
        "boxes": ("float32", [3, 100, 4]),
        "labels": ("int32", [3, 100]),
        "masks": ("uint8", [3, 100, 112, 112]),
        "keys": ("int32", [3, 2]),
        "ids": ("int64", [3]),
        "originals": ("int32", [3, 2]),
        "weights": ("float32", [3]),
    }


def test_keys_are_of_the_record_and_the_epoch(shards: Path) -> None:
    source = pipeline(shards)
    first, second = (np.concatenate([batch.keys for batch in every(source, epoch)]) for epoch in (0, 1))
    assert sorted(first[:, 0]) == list(range(80))
    assert len({*first[:, 1], *second[:, 1]}) == 2
    assert first.min() >= 0


def test_half_of_the_images_are_mirrored_others_in_each_epoch(shards: Path) -> None:
    def images(epoch: int, mirror: bool = True) -> dict[int, bytes]:
        found = every(pipeline(shards, mirror=mirror), epoch)
        return {int(batch.ids[0]): batch.images.numpy().tobytes() for batch in found}

    plain, first, second = images(0, mirror=False), images(0), images(1)
    assert 20 < sum(plain[each] != first[each] for each in plain) < 60
    assert 20 < sum(first[each] != second[each] for each in plain) < 60


# --------------------------------------------------------------------------------------------------------- ranks


class Ranks:
    """A run of several ranks, one after another in this process."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, size: int, batch_size: int, classes: int = 4) -> None:
        self._patch, self._folder, self._size, self._batch_size = patch, folder, size, batch_size
        self._settings = settings(classes=classes)

    def training(self, position: Position) -> list[list[Batch]]:
        return [list(self._data(rank).training_batches(position)) for rank in range(self._size)]

    def validation(self) -> list[list[Batch]]:
        return [list(self._data(rank).validation_batches()) for rank in range(self._size)]

    def _data(self, rank: int) -> Data:
        alone = SimpleNamespace(rank=lambda: rank, size=lambda: self._size)
        for module in (run_data, rank_records):
            self._patch.setattr(module, "ranks", alone)
        self._patch.setattr(run_images, "on_rank_zero", lambda work: work())
        return run_images.load(self._folder, self._settings, batch_size=self._batch_size)


def ids(batches: Sequence[Batch]) -> list[int]:
    return [int(each) for batch in batches for each, weight in zip(batch.ids, batch.weights, strict=True) if weight]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_ranks_have_the_same_shape_in_a_step(shards: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    ranks = Ranks(monkeypatch, shards, size, 2)
    for found in (ranks.training(Position()), ranks.validation()):
        shapes = [[tuple(batch.images.shape) for batch in batches] for batches in found]
        assert shapes.count(shapes[0]) == size
        assert len(set(shapes[0])) == 4
        seen = [each for batches in found for each in ids(batches)]
        assert len(seen) == len(set(seen))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_an_evaluation_has_each_image_once(shards: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    found = Ranks(monkeypatch, shards, size, 3).validation()
    assert sorted(each for batches in found for each in ids(batches)) == list(range(1, 21))
    assert all(len(batch.ids) == 3 for batches in found for batch in batches)


def test_a_resumed_run_has_the_same_batches(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = Ranks(monkeypatch, shards, 2, 2)
    whole = ranks.training(Position(epoch=3))
    rest = ranks.training(Position(epoch=3, segments=(Segment(world_size=2, batch_size=2, steps=5),)))
    for before, after in zip(whole, rest, strict=True):
        assert len(after) == len(before) - 5 > 3
        for first, second in zip(before[5:], after, strict=True):
            assert all(np.array_equal(one, two) for one, two in zip(first, second, strict=True))


def test_other_ranks_get_exactly_the_rest(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = [batches[:5] for batches in Ranks(monkeypatch, shards, 2, 2).training(Position())]
    position = Position(segments=(Segment(world_size=2, batch_size=2, steps=5),))
    rest = Ranks(monkeypatch, shards, 1, 1).training(position)
    first, second = ([each for batches in found for each in ids(batches)] for found in (done, rest))
    assert sorted(first + second) == list(range(1, 81))


def test_a_bucket_without_a_step_is_an_error(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"bucket [0-3] has .* of the 80 training records, but a step takes"):
        Ranks(monkeypatch, shards, 2, 16).training(Position())


def test_other_categories_are_an_error(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError) as caught:
        Ranks(monkeypatch, shards, 1, 1, classes=80).training(Position())
    assert str(caught.value) == (
        f"'--data-dir' is {shards}, which has 4 categories, but the network finds 80; give the data set of the network"
    )


# -------------------------------------------------------------------------------------------------------- damaged


GOOD = bytes(tf.io.encode_jpeg(np.zeros((64, 64, 3), np.uint8)).numpy())
SQUARE = RecordedObject((0.0, 0.0, 9.0, 9.0), 1, 81.0, b"\xff" * 1568)


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"not an example", "is not a tf.train.Example with an image and its objects"),
        (b"", "has no size, or boxes, labels and masks of different numbers of objects; convert COCO again"),
        (example(GOOD[:-9], 64, 64), f"has {len(GOOD) - 9:,} bytes that should be a JPEG image, but does not decode"),
        (
            example(GOOD, 64, 64, [RecordedObject(SQUARE.box, 1, 1.0, b"\xff")]),
            "has no size, or boxes, labels and masks of different numbers of objects; convert COCO again",
        ),
        (
            example(GOOD, 64, 64, [RecordedObject(SQUARE.box, 5, 1.0, SQUARE.mask)]),
            "has the label 5, but labels are 1 to 4",
        ),
        (
            example(GOOD, 64, 63),
            "has an image of [64, 64] pixels, but the size [64, 63], and [64, 64] in the file beside it",
        ),
    ],
)
def test_reports_or_replaces_a_damaged_record(
    tmp_path: Path, damaged: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = example(GOOD, 64, 64, [SQUARE])
    portrait = example(bytes(tf.io.encode_jpeg(np.zeros((90, 60, 3), np.uint8)).numpy()), 90, 60)
    sizes = [(7, 64, 64)] * 4 + [(7, 90, 60)] * 2
    records = write(tmp_path, [content, content, damaged, content, portrait, portrait], sizes, "train")
    with pytest.raises(UserError) as caught:
        every(BatchPipeline(records, settings()), batch_size=2)
    assert f"record 2 at byte {records.shards[0].bounds[2]} {reason}" in str(caught.value)
    source = BatchPipeline(records, settings(skip_damaged=True))
    found = every(source, batch_size=2)
    assert source.skipped_records == {2}
    assert sorted(tuple(batch.images.shape) for batch in found) == [(2, 64, 96, 3)] * 2 + [(2, 96, 64, 3)]
    assert 2 not in np.concatenate([batch.keys for batch in found])[:, 0]
    assert f"record 2 at byte {records.shards[0].bounds[2]} {reason}\n" in capsys.readouterr().err


def test_a_skipped_record_is_not_counted_in_an_evaluation(tmp_path: Path) -> None:
    content = example(GOOD, 64, 64)
    records = write(tmp_path, [content, b"damaged", content], [(7, 64, 64)] * 3, "validation")
    source = BatchPipeline(records, settings(skip_damaged=True))
    order = epoch_order.evaluation(len(source.buckets), buckets=source.buckets, batch_size=2, rank=0, size=1)
    found = list(source.evaluation(order))
    assert sum(float(tf.reduce_sum(batch.weights)) for batch in found) == 2


def test_a_rank_without_another_record_of_the_bucket_takes_one_of_another_rank(tmp_path: Path) -> None:
    content = example(GOOD, 64, 64)
    records = write(tmp_path, [b"damaged", content], [(7, 64, 64)] * 2, "validation")
    source = BatchPipeline(records, settings(skip_damaged=True))
    order = epoch_order.evaluation(len(source.buckets), buckets=source.buckets, batch_size=1, rank=0, size=2)
    (batch,) = source.evaluation(order)
    assert (batch.keys.numpy()[0, 0], float(batch.weights[0])) == (1, 0.0)


def test_shards_without_their_sizes_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, [example(GOOD, 64, 64)] * 2, [(7, 64, 64)] * 2, "train")
    beside = tmp_path / "train-00000-of-00001.sizes"
    for content, lines in (("7 64 64\n", "1 lines"), ("7 64\n7 64\n", "no valid lines"), ("", "0 lines")):
        beside.write_text(content)
        with pytest.raises(UserError) as caught:
            opened(tmp_path)
        assert str(caught.value) == (
            f"{beside} has {lines}, but the shard has 2 records; copy it again, or convert COCO again: "
            "python -m training.coco.convert --help"
        )


def test_a_damaged_record_ends_this_rank_alone(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CocoRecords, "read", lambda *_: [b"damaged"])
    with pytest.raises(RankError, match=r"is not a tf.train.Example"):
        Ranks(monkeypatch, shards, 1, 1).training(Position())
