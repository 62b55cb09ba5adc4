import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.training.imagenet import imagenet_archives
from tests.training.imagenet.imagenet_conversion import COUNTS, command, contents, read, run, write_here
from training.records import shard_files
from training.records.conversion import conversion_folder, shard_processes
from training.runtime.errors import UserError

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imagenet_archives.write_archives(tmp_path_factory.mktemp("source") / "archives")


@pytest.fixture(scope="module")
def converted(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Convert the archives with two processes of a real run."""
    output = tmp_path_factory.mktemp("converted")
    done = subprocess.run(command(source, output, *COUNTS), cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return output


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write the shards in this process, which has imported TensorFlow."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(shard_processes, "run", write_here)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


# -------------------------------------------------------------------------------------------------------- contents


def test_every_training_image_is_in_a_shard_with_its_label(converted: Path) -> None:
    found = read(converted, "train")
    labels = {name: int(example["image/class/label"]) for name, example in found.items()}
    assert len(labels) == 21
    assert {(name[:9], label) for name, label in labels.items()} == {
        ("n01440764", 1),
        ("n02105855", 2),
        ("n07742313", 3),
    }
    assert (converted / "synsets.txt").read_text() == "n01440764\nn02105855\nn07742313\n"
    originals = {path[10:]: content for path, content in imagenet_archives.train_images().items()}
    changed = [name for name, example in found.items() if example["image/encoded"] != originals[name]]
    assert sorted(changed) == ["n02105855_3.JPEG", "n07742313_4.JPEG"]


def test_every_image_is_a_jpeg_of_its_recorded_size(converted: Path) -> None:
    for example in read(converted, "train").values():
        image = tf.io.decode_jpeg(example["image/encoded"], channels=3)
        assert image.shape == (example["image/height"], example["image/width"], 3)
    cmyk = read(converted, "train")["n07742313_4.JPEG"]["image/encoded"]
    assert np.abs(tf.io.decode_jpeg(cmyk).numpy().astype(int) - (220, 51, 196)).max() <= 3


def test_validation_labels_follow_the_sorted_names(converted: Path) -> None:
    labels = {name: int(example["image/class/label"]) for name, example in read(converted, "validation").items()}
    assert labels == {
        "ILSVRC2012_val_00000001.JPEG": 3,
        "ILSVRC2012_val_00000002.JPEG": 2,
        "ILSVRC2012_val_00000003.JPEG": 1,
        "ILSVRC2012_val_00000004.JPEG": 1,
        "ILSVRC2012_val_00000005.JPEG": 3,
        "ILSVRC2012_val_00000006.JPEG": 2,
    }


def test_shards_are_samples_of_equal_size(converted: Path) -> None:
    found = shard_files.find(converted, "train")
    assert [shard_files.count_examples(path) for path in found.paths] == [6, 5, 5, 5]
    for path in found.paths:
        assert len(set(re.findall(rb"n\d{8}(?=_\d)", path.read_bytes()))) > 1


@pytest.mark.usefixtures("here")
def test_folders_give_the_same_bytes_as_the_archives(
    converted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = imagenet_archives.write_folders(tmp_path / "source")
    assert run(folders, tmp_path / "shards") == 0
    assert contents(tmp_path / "shards") == contents(converted)
    lines = capsys.readouterr().out.splitlines()
    assert lines.pop(4).startswith("[##############################] 27/27 images, ")
    assert lines == [
        f"listing the images in {folders}",
        f"train: 21 images of 3 classes in {folders}/train",
        f"validation: 6 images of 3 classes in {folders}/val",
        "classes: n01440764 to n07742313, not ImageNet's, so their images are counted but not compared",
        "train: 21 images in 4 shards",
        "validation: 6 images in 2 shards",
        "PASS: every image that is not damaged is in its shard, and every shard was read back",
    ]


@pytest.mark.usefixtures("here")
def test_resizes_images(source: Path, tmp_path: Path) -> None:
    large = imagenet_archives.write_folders(tmp_path / "source")
    path = large / "train/n01440764/n01440764_0.JPEG"
    path.write_bytes(imagenet_archives.jpeg(0, height=128, width=96))
    assert run(large, tmp_path / "shards", "--resize", "32") == 0
    found = read(tmp_path / "shards", "train")
    assert (found["n01440764_0.JPEG"]["image/height"], found["n01440764_0.JPEG"]["image/width"]) == (43, 32)
    assert found["n01440764_1.JPEG"]["image/height"] == 21


# --------------------------------------------------------------------------------------------------------- resume


class Killed(BaseException):
    """An exception that no code catches."""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("at", [2, 5, 8, 9, 10, 11, 12, 20])
def test_a_run_that_ended_anywhere_resumes_to_the_same_bytes(
    source: Path, converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    calls = []

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            calls.append(real)
            if len(calls) == at:
                raise Killed
            return real(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", dying(os.fsync))
        patch.setattr(Path, "replace", dying(Path.replace))
        with pytest.raises(Killed):
            run(source, tmp_path)
    for path in tmp_path.glob("*-of-0000?"):
        assert shard_files.count_examples(path)
    assert run(source, tmp_path) == 0
    assert contents(tmp_path) == contents(converted)


@pytest.mark.usefixtures("here")
def test_writes_only_incomplete_shards_again(
    source: Path, converted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in contents(converted).items():
        (tmp_path / name).write_bytes(content)
    cut, missing = tmp_path / "train-00001-of-00004", tmp_path / "validation-00000-of-00002"
    cut.write_bytes(cut.read_bytes()[:-1])
    missing.unlink()
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert run(source, tmp_path) == 0
    assert "4 of 6 shards are already done\n" in capsys.readouterr().out
    assert contents(tmp_path) == contents(converted)
    changed = [path.name for path in tmp_path.glob("*-of-0000?") if path.stat().st_mtime_ns != before.get(path.name)]
    assert sorted(changed) == ["train-00001-of-00004", "validation-00000-of-00002"]


@pytest.mark.usefixtures("here")
def test_rejects_other_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = imagenet_archives.write_folders(tmp_path / "source")
    assert run(folders, tmp_path / "shards") == 0
    (folders / "train/n01440764/n01440764_0.JPEG").rename(folders / "train/n01440764/n01440764_9.JPEG")
    assert run(folders, tmp_path / "shards") == 2
    assert re.search(
        r"has shards of other settings: the fingerprint of the images was [0-9a-f]{16} and is [0-9a-f]{16} now; give",
        capsys.readouterr().err,
    )


# -------------------------------------------------------------------------------------------------- damaged images


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Return archives with a training image that is cut off, an empty one, and one that is not an image."""
    images = imagenet_archives.train_images()
    images["n01440764/n01440764_2.JPEG"] = images["n01440764/n01440764_2.JPEG"][:-20]
    images["n02105855/n02105855_0.JPEG"] = b""
    images["n07742313/n07742313_6.JPEG"] = b"<html>"
    return imagenet_archives.write_archives(tmp_path / "archives", images)


@pytest.mark.usefixtures("here")
def test_reports_all_damaged_images_and_does_not_write_their_shards(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(damaged, tmp_path / "shards") == 1
    out = capsys.readouterr().out
    archive = f"  {damaged}/ILSVRC2012_img_train.tar: "
    assert (
        f"{archive}n01440764.tar/n01440764_2.JPEG cannot be decoded: its JPEG data is damaged or cut off\n"
        f"{archive}n02105855.tar/n02105855_0.JPEG cannot be decoded: the file is empty\n"
        f"{archive}n07742313.tar/n07742313_6.JPEG cannot be decoded: it begins with b'<html>' and is not a complete "
        "JPEG, PNG, GIF or BMP\n"
        "FAIL: 3 images are damaged (above), and their shards are not written; replace the images, "
        "or skip them with '--on-bad-data skip': the other shards are done\n"
    ) in out
    assert len(shard_files.find(tmp_path / "shards", "validation").paths) == 2
    with pytest.raises(UserError, match=r"where [1-3] of \d+ train shards are missing"):
        shard_files.find(tmp_path / "shards", "train")


@pytest.mark.usefixtures("here")
def test_skips_and_counts_damaged_images(damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "shards"
    assert run(damaged, output) == 1
    capsys.readouterr()
    for _ in range(2):
        assert run(damaged, output, "--on-bad-data", "skip") == 0
        assert "\ntrain: 18 images in 4 shards, 3 damaged ones are skipped\n" in capsys.readouterr().out
    assert len(read(output, "train")) == 18
    # A run that does not skip them reports them again.
    assert run(damaged, output) == 1


@pytest.mark.usefixtures("here")
def test_an_image_above_the_limit_is_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = imagenet_archives.train_images()
    images["n01440764/n01440764_2.JPEG"] = imagenet_archives.jpeg(3, height=1000, width=1001)
    source = imagenet_archives.write_archives(tmp_path / "archives", images)
    assert run(source, tmp_path / "shards", "--max-megapixels", "1") == 1
    assert (
        f"  {source}/ILSVRC2012_img_train.tar: n01440764.tar/n01440764_2.JPEG has 1001 x 1000 pixels, but at most 1 "
        "megapixels are decoded; give a larger '--max-megapixels' if this image is a good one\n"
    ) in capsys.readouterr().out
    assert run(source, tmp_path / "shards") == 0


# ----------------------------------------------------------------------------------------------------------- errors


@pytest.mark.usefixtures("here")
def test_a_full_disk_keeps_the_finished_shards(
    source: Path, converted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        # After the 13th, the shard itself: of its folder, a failed one is a warning.
        if len(calls) > 13:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert run(source, tmp_path) == 2
    assert capsys.readouterr().err == (
        f"error: the shard {tmp_path}/train-00002-of-00004 cannot be written (No space left on device); free some "
        "space or fix the cause, then start again: the finished shards are kept\n"
    )
    assert not list(tmp_path.glob(".*"))
    assert run(source, tmp_path) == 0
    assert contents(tmp_path) == contents(converted)


@pytest.mark.usefixtures("here")
def test_rejects_more_shards_than_images(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source, tmp_path, "--train-shards", "22") == 2
    assert capsys.readouterr().err == ("error: '--train-shards' is 22, but there are 21 images; give 21 or less\n")


def test_reports_an_input_error_without_tensorflow(tmp_path: Path) -> None:
    given = command(tmp_path / "nothing", tmp_path / "shards")
    code = "import runpy, sys; sys.argv = sys.argv[1:]\ntry: runpy.run_module(sys.argv[0], run_name='__main__')\n"
    check = "finally: assert 'tensorflow' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code + check, *given[2:]], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stderr.startswith(
        f"error: '--source' is {tmp_path}/nothing, which is not a folder; give the folder with"
    )


def test_rejects_two_runs_at_the_same_time(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with conversion_folder.locked(tmp_path, {}):
        assert run(source, tmp_path) == 2
    assert capsys.readouterr().err == (
        f"error: '--output-dir' is {tmp_path}, where another run is writing; wait for it, or give another folder\n"
    )
