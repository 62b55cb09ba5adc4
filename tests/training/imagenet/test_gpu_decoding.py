import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.training.imagenet_data import example, run_settings, write_shards
from training.imagenet.gpu_decoding import GpuDecoder
from training.imagenet.image_work import EncodedBatch
from training.imagenet.input_pipeline import InputPipeline, Settings
from training.records import epoch_order
from training.records.rank_records import open_split
from training.runtime.errors import UserError

with_dali = pytest.mark.skipif(
    importlib.util.find_spec("nvidia") is None or importlib.util.find_spec("nvidia.dali") is None,
    reason="DALI is not installed: requirements/dali.txt",
)


def photograph(number: int) -> bytes:
    small = np.random.default_rng(number).integers(256, size=(6, 8, 3))
    pixels = tf.image.resize(small, (120 + 10 * (number % 4), 160), method="bicubic")
    return bytes(tf.io.encode_jpeg(tf.saturate_cast(pixels, tf.uint8), quality=95).numpy())


def pipeline(folder: Path, **changes: Any) -> InputPipeline:
    machine = {name: changes.pop(name) for name in ("device", "dali") if name in changes}
    run = run_settings(**{"image_size": 64, "classes": 1, "min_crop_area": 0.2, **changes})
    return InputPipeline(open_split(folder, "train", classes=1), Settings(run=run, threads=2, **machine))


def test_says_what_to_install_without_dali(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path, [example(0)], 1)
    monkeypatch.setitem(sys.modules, "nvidia.dali", None)
    with pytest.raises(UserError) as caught:
        pipeline(tmp_path, dali=True)
    assert str(caught.value) == (
        "'--decode gpu' needs NVIDIA DALI, which is not installed; install requirements/dali.txt into the image, "
        "or give '--decode cpu'"
    )


def test_without_decoding_a_batch_has_jpegs_and_their_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path, [example(number, 1, photograph(number)) for number in range(8)], 2)
    seen: list[EncodedBatch] = []

    class Decoder:
        def __init__(self, **given: object) -> None:
            assert given == {"size": 64, "threads": 2, "device": "/CPU:0"}

        def batches(self, encoded: Any) -> Any:
            for batch in encoded:
                seen.append(batch)
                yield batch

    monkeypatch.setattr("training.imagenet.input_pipeline.GpuDecoder", Decoder)
    order = epoch_order.training(8, (), batch_size=4, rank=0, size=1, seed=0, epoch=0)
    list(pipeline(tmp_path, dali=True, device="/CPU:0").training(order, 0))
    assert [batch.jpegs.numpy().tolist() for batch in seen] == [
        [photograph(number) for number in row] for row in order.numbers.tolist()
    ]
    windows = np.concatenate([batch.windows.numpy() for batch in seen])
    assert windows.shape == (8, 4)
    assert (windows[:, 2:] > 0).all()
    assert (windows[:, :2] + windows[:, 2:] <= (150, 160)).all()


def test_a_damaged_batch_does_not_take_the_one_before_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next batch is read while one is decoded; the search for the damaged record counts batches."""
    monkeypatch.setitem(sys.modules, "nvidia", ModuleType("nvidia"))
    monkeypatch.setitem(sys.modules, "nvidia.dali", ModuleType("nvidia.dali"))
    monkeypatch.setattr(sys.modules["nvidia"], "dali", sys.modules["nvidia.dali"], raising=False)
    decoder = GpuDecoder(size=64, threads=1, device=None)
    monkeypatch.setattr(decoder, "_pipeline", lambda count: None)
    monkeypatch.setattr(decoder, "_start", lambda pipeline, batch: None)
    monkeypatch.setattr(decoder, "_decoded", lambda pipeline, batch: batch)

    def encoded() -> Iterator[Any]:
        yield from (SimpleNamespace(labels=[number]) for number in range(2))
        raise tf.errors.DataLossError(None, None, "a checksum")

    made = decoder.batches(encoded())
    assert [next(made).labels, next(made).labels] == [[0], [1]]
    with pytest.raises(tf.errors.DataLossError):
        next(made)


@with_dali
def test_dali_decodes_the_same_parts_as_tensorflow(tmp_path: Path) -> None:
    write_shards(tmp_path, [example(number, 1, photograph(number)) for number in range(20)], 2)
    order = epoch_order.training(20, (), batch_size=5, rank=0, size=1, seed=0, epoch=0)
    made = list(pipeline(tmp_path, dali=True).training(order, 0))
    expected = list(pipeline(tmp_path).training(order, 0))
    assert len(made) == len(expected) == 4
    for one, other in zip(made, expected, strict=True):
        assert (one.images.dtype, one.images.shape) == (tf.uint8, (5, 64, 64, 3))
        for tensor, other_tensor in zip(one[1:], other[1:], strict=True):
            np.testing.assert_array_equal(tensor, other_tensor)
        difference = np.abs(one.images.numpy().astype(int) - other.images.numpy().astype(int))
        # Their decoders round differently; another part of an image differs by 50 and more in the mean.
        assert difference.mean(axis=(1, 2, 3)).max() < 2


@with_dali
def test_dali_skips_the_records_that_tensorflow_skips(tmp_path: Path) -> None:
    examples = [example(number, 1, photograph(number)) for number in range(20)]
    # The header is complete: only the decoder finds the damage.
    examples[3] = example(3, 1, photograph(3)[:700])
    write_shards(tmp_path, examples, 2)
    order = epoch_order.training(20, (), batch_size=5, rank=0, size=1, seed=0, epoch=0)
    made = pipeline(tmp_path, dali=True, on_bad_data="skip")
    assert len(list(made.training(order, 0))) == 4
    assert made.skipped_records == {3}
    with pytest.raises(UserError, match=r"record 3 at byte .* does not decode"):
        list(pipeline(tmp_path, dali=True).training(order, 0))
