"""The images of a step: which part, whose pixels, and what takes the place of a damaged record."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from training.imagenet.classifier_settings import ClassifierSettings
from training.records.epoch_order import Order
from training.records.jpeg_folder import JpegFolder
from training.records.numbered_records import Records
from training.runtime.errors import LostFileSystemError, UserError
from training.torch_imagenet.__main__ import to_float
from training.torch_imagenet.image_batches import (
    Batch,
    ImageBatches,
    Settings,
    Window,
    cut,
    evaluation_window,
    training_window,
)

SIZE = 8


def jpeg(number: int) -> bytes:
    stream = io.BytesIO()
    pixels = np.random.default_rng(number).integers(256, size=(24, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def folder(path: Path, damaged: Sequence[int] = (), count: int = 12) -> Records:
    """Return records of three classes; their order mixes the files."""
    names = [[f"{number:02d}.JPEG" for number in range(count) if number % 3 == label] for label in range(3)]
    records = JpegFolder(path, ["a", "b", "c"], names)
    for label, files in zip("abc", names, strict=True):
        (path / label).mkdir(parents=True)
        for name in files:
            (path / label / name).write_bytes(jpeg(int(name[:2])))
    for number in damaged:
        Path(records.where(number)).write_bytes(b"\x89PNG")
    return records


def batches_of(records: Records, *, skip: bool = False, workers: int = 0, seed: int = 7) -> ImageBatches:
    run = ClassifierSettings(
        synthetic=True,
        output_dir=Path("unused"),
        image_size=SIZE,
        classes=3,
        min_crop_area=0.5,
        seed=seed,
        on_bad_data="skip" if skip else "stop",
    )
    return ImageBatches(records, Settings(run=run, workers=workers, device=torch.device("cpu")))


def order(numbers: Sequence[Sequence[int]]) -> Order:
    rows = np.array(numbers, np.int64)
    return Order(rows, np.ones(rows.shape, np.float32))


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(*each) for each in zip(one, other, strict=True))


ORDER = order([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])


def test_a_step_is_the_same_in_another_process_and_after_a_resume(tmp_path: Path) -> None:
    records = folder(tmp_path)
    made = list(batches_of(records).training(ORDER, epoch=1))
    assert len(made) == 3
    later = list(batches_of(records, workers=2).training(ORDER, epoch=1, start_step=1))
    assert [same(*each) for each in zip(later, made[1:], strict=True)] == [True, True]
    other = next(iter(batches_of(records).training(ORDER, epoch=2)))
    assert not torch.equal(other.images, made[0].images)


def test_labels_are_from_zero_in_the_order_given(tmp_path: Path) -> None:
    records = folder(tmp_path)
    (first, *_) = batches_of(records).evaluation(ORDER)
    names = [Path(records.where(number)).parent.name for number in range(4)]
    assert first.labels.tolist() == ["abc".index(name) for name in names]
    assert (first.images.shape, first.images.dtype) == ((4, 3, SIZE, SIZE), torch.uint8)
    assert first.flips.tolist() == [False] * 4


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_record_ends_the_run_with_its_place(tmp_path: Path, workers: int) -> None:
    records = folder(tmp_path, damaged=[5])
    with pytest.raises(UserError) as caught:
        list(batches_of(records, workers=workers).training(ORDER, epoch=0))
    assert str(caught.value) == (
        f"{records.where(5)} has 4 bytes that should be a JPEG image, but is a PNG image; copy or convert the file "
        "again, or give '--on-bad-data skip' to skip it"
    )


def test_a_file_that_cannot_be_read_ends_the_run(tmp_path: Path) -> None:
    records = folder(tmp_path)
    Path(records.where(3)).unlink()
    with pytest.raises(UserError, match="cannot be read"):
        list(batches_of(records, skip=True, workers=1).training(ORDER, epoch=0))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_lost_file_system_is_one_on_the_rank_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    records = folder(tmp_path)

    def lost(*_: object) -> list[bytes]:
        raise LostFileSystemError("/fsx is lost")

    # A process of the DataLoader is forked, and has it too.
    monkeypatch.setattr(JpegFolder, "read", lost)
    with pytest.raises(LostFileSystemError, match=r"^/fsx is lost$"):
        list(batches_of(records, workers=workers).training(ORDER, epoch=0))


def test_the_record_before_takes_the_place_of_a_damaged_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    records = folder(tmp_path, damaged=[4, 5])
    made = batches_of(records, skip=True)
    found = list(made.training(ORDER, epoch=0))
    expected = list(batches_of(records).training(order([[0, 1, 2, 3], [3, 3, 6, 7], [8, 9, 10, 11]]), epoch=0))
    assert [same(*each) for each in zip(found, expected, strict=True)] == [True] * 3
    assert made.skipped_records == {4, 5}
    assert capfd.readouterr().err.count("warning: skipped: ") == 2
    # An evaluation does not count it.
    assert [batch.weights.tolist() for batch in made.evaluation(ORDER)] == [[1] * 4, [0, 0, 1, 1], [1] * 4]


def test_a_rank_without_an_undamaged_record_ends(tmp_path: Path) -> None:
    records = folder(tmp_path, damaged=range(12))
    with pytest.raises(UserError, match="all records of this rank are damaged"):
        list(batches_of(records, skip=True).training(ORDER, epoch=0))


@pytest.mark.parametrize("number", range(50))
def test_a_crop_is_inside_the_image_and_the_same_every_time(number: int) -> None:
    window = training_window(60, 80, number, key=3, min_crop_area=0.25)
    assert window == training_window(60, 80, number, key=3, min_crop_area=0.25)
    assert 0 <= window.top <= 60 - window.height
    assert 0 <= window.left <= 80 - window.width
    # Sides are whole pixels.
    assert window.height * window.width >= 0.25 * 60 * 80 - 60
    assert 3 / 4 - 0.05 <= window.width / window.height <= 4 / 3 + 0.05


def test_crops_differ_by_epoch_and_record() -> None:
    drawn = {training_window(500, 400, number, key, 0.08) for number in range(10) for key in range(10)}
    assert len(drawn) == 100


@pytest.mark.parametrize(("height", "width"), [(1, 100), (100, 1)])
def test_an_image_that_no_crop_fits_is_used_whole(height: int, width: int) -> None:
    assert training_window(height, width, 0, 0, 1.0) == Window(0, 0, height, width)


def test_the_window_of_an_evaluation_is_the_centre() -> None:
    # 7/8 of the short side, as TensorFlow's side has it.
    assert evaluation_window(256, 512) == Window(16, 144, 224, 224)


def reference(image: NDArray[np.uint8], size: int) -> NDArray[np.float64]:
    """Return the bilinear resize with the centres of pixels at halves, written out."""
    height, width = image.shape[1:]

    def weights(length: int) -> NDArray[np.float64]:
        matrix = np.zeros((size, length))
        for row in range(size):
            place = min(max((row + 0.5) * length / size - 0.5, 0), length - 1)
            low = int(place)
            high = min(low + 1, length - 1)
            matrix[row, low] += 1 - (place - low)
            matrix[row, high] += place - low
        return matrix

    return np.asarray(weights(height) @ image.astype(np.float64) @ weights(width).T)


def test_a_part_is_resized_as_tensorflow_does_it() -> None:
    image = np.random.default_rng(0).integers(256, size=(3, 30, 40), dtype=np.uint8)
    found = cut(torch.from_numpy(image), Window(5, 7, 20, 25), SIZE).numpy()
    expected = reference(image[:, 5:25, 7:32], SIZE)
    assert np.abs(found - expected).max() <= 0.501


def test_images_are_mirrored_and_normalized() -> None:
    images = torch.zeros(2, 3, 1, 2, dtype=torch.uint8)
    images[:, :, :, 1] = 255
    found = to_float(images, torch.tensor([False, True]))
    red = [(0 - 123.68) / 58.395, (255 - 123.68) / 58.395]
    assert found[0, 0, 0].tolist() == pytest.approx(red)
    assert found[1, 0, 0].tolist() == pytest.approx(red[::-1])
    assert found.is_contiguous(memory_format=torch.channels_last)
