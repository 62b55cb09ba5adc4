import errno
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from pycocotools.coco import COCO

from tests.training.coco import coco_data
from tests.training.coco.coco_data import annotation, run
from training.coco import categories
from training.coco.categories import Category
from training.coco.convert import __main__ as convert
from training.coco.convert import coco_source
from training.records import shard_files
from training.runtime.errors import UserError

ROOT = Path(__file__).parents[3]

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/id": tf.io.FixedLenFeature([], tf.int64),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "object/boxes": tf.io.VarLenFeature(tf.float32),
    "object/labels": tf.io.VarLenFeature(tf.int64),
    "object/areas": tf.io.VarLenFeature(tf.float32),
    "object/masks": tf.io.FixedLenFeature([], tf.string),
}


def read(folder: Path, split: str) -> dict[int, dict[str, Any]]:
    paths = [str(path) for path in shard_files.find(folder, split).paths]
    parsed = tf.data.TFRecordDataset(paths).map(lambda example: tf.io.parse_single_example(example, FEATURES))
    return {int(each["image/id"]): {name: _plain(value) for name, value in each.items()} for each in parsed}


def _plain(value: Any) -> Any:
    return (value.values if isinstance(value, tf.SparseTensor) else value).numpy()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coco_data.write_archives(tmp_path_factory.mktemp("source") / "archives", coco_data.contents())


@pytest.fixture(scope="module")
def converted(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("converted")
    assert run(source, output) == 0
    return output


# -------------------------------------------------------------------------------------------------------- contents


def test_a_record_has_the_image_and_its_objects(converted: Path) -> None:
    found = read(converted, "train")
    assert sorted(found) == [11, 12, 13, 14, 15, 16]
    record = found[11]
    assert record["image/encoded"] == coco_data.jpeg(11)
    assert (record["image/height"], record["image/width"]) == (40, 60)
    # The crowd is last.
    assert record["object/boxes"].tolist() == [10, 5, 30, 25, 0, 10, 40, 20]
    assert record["object/labels"].tolist() == [1, -1]
    assert record["object/areas"].tolist() == [400, 400]
    # The square fills its box.
    assert record["object/masks"] == b"\xff" * 1568 + bytes(1568)


def test_an_image_without_objects_is_kept(converted: Path) -> None:
    record = read(converted, "train")[12]
    assert (len(record["object/boxes"]), len(record["object/labels"]), record["object/masks"]) == (0, 0, b"")


def test_writes_what_a_run_needs_without_the_shards(converted: Path) -> None:
    lines = [(converted / f"train-0000{number}-of-00002.sizes").read_text().splitlines() for number in (0, 1)]
    assert sorted(lines[0] + lines[1]) == [f"{number} 40 60" for number in range(11, 17)]
    assert categories.read(converted) == [Category(1, 1, "person"), Category(2, 3, "car")]


def test_pycocotools_reads_the_validation_annotations(converted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = COCO(converted / "instances_validation.json")
    capsys.readouterr()
    assert truth.getImgIds() == [101, 102, 103]
    assert truth.loadAnns([101])[0] == annotation(101, 101)
    assert truth.annToMask(truth.anns[99]).sum() == 400


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, None])
def test_compressed_archives_and_folders_give_the_same_bytes(
    converted: Path, tmp_path: Path, method: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    files, given = coco_data.contents(), tmp_path / "source"
    if method is None:
        coco_data.write_folders(given, files)
    else:
        coco_data.write_archives(given, files, method)
    assert run(given, tmp_path / "shards") == 0
    assert contents(tmp_path / "shards") == contents(converted)
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "train: 6 images in 2 shards",
        "validation: 3 images in 1 shards",
        "PASS: every image that is not damaged is in its shard, and every shard was read back",
    ]


def test_describes_the_source(source: Path) -> None:
    place = f"{source}/annotations_trainval2017.zip: annotations/instances"
    assert coco_source.find(source, allow_missing=False).sentences() == [
        f"train: 6 images in {source}/train2017.zip, 5 objects and 1 crowd regions in {place}_train2017.json; "
        "1 images have none",
        f"validation: 3 images in {source}/val2017.zip, 2 objects and 1 crowd regions in {place}_val2017.json; "
        "1 images have none",
        "categories: 2, person to car, not COCO's, so their images are counted but not compared",
    ]


# ---------------------------------------------------------------------------------------------------------- resume


class Killed(BaseException):
    """An exception that no code catches."""


@pytest.mark.parametrize("at", range(1, 13))
def test_a_run_that_ended_anywhere_resumes_to_the_same_bytes(
    source: Path, converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    real, calls = Path.replace, []

    def dying(path: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == at:
            raise Killed
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        with pytest.raises(Killed):
            run(source, tmp_path)
    assert run(source, tmp_path) == 0
    assert contents(tmp_path) == contents(converted)


def test_writes_a_shard_again_whose_sizes_are_lost(source: Path, converted: Path, tmp_path: Path) -> None:
    for name, content in contents(converted).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "train-00001-of-00002.sizes").write_text("11 40 60\n")
    (tmp_path / "validation-00000-of-00001.sizes").unlink()
    assert run(source, tmp_path) == 0
    assert contents(tmp_path) == contents(converted)


def test_rejects_other_annotations(converted: Path, tmp_path: Path) -> None:
    for name, content in contents(converted).items():
        (tmp_path / name).write_bytes(content)
    files = coco_data.contents(lambda train: train["annotations"].pop())
    with pytest.raises(UserError, match="which has shards of other settings: the train annotations was"):
        run(coco_data.write_folders(tmp_path / "source", files), tmp_path)


@pytest.mark.whole_run
def test_the_program_converts_with_several_processes(source: Path, converted: Path, tmp_path: Path) -> None:
    given = ["--source", source, "--output-dir", tmp_path, "--workers", "2", *coco_data.COUNTS]
    command = [sys.executable, "-m", "training.coco.convert", *map(str, given)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path) == contents(converted)


# --------------------------------------------------------------------------------------------------------- damaged


def test_nothing_is_written_with_damaged_annotations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def damage(train: dict[str, Any]) -> None:
        train["annotations"] += [annotation(number, 99) for number in range(200, 222)]

    given = coco_data.write_folders(tmp_path / "source", coco_data.contents(damage))
    assert run(given, tmp_path / "shards") == 1
    out = capsys.readouterr().out
    place = f"{given}/annotations/instances_train2017.json"
    assert f"  {place}: annotation 200 is of image 99, which is not among the images\n" in out
    assert out.endswith(
        "  and 2 more\nFAIL: 22 images and annotations cannot be used (above), and nothing is written; "
        "fix them, or skip them with '--on-bad-data skip'\n"
    )
    assert list((tmp_path / "shards").iterdir()) == []


def test_skips_and_counts_damaged_annotations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = coco_data.contents(lambda train: train["annotations"][1].update(category_id=7))
    del files["train2017/000000000014.jpg"]
    files["train2017/stray.jpg"] = b""
    given = coco_data.write_folders(tmp_path / "source", files)
    assert run(given, tmp_path / "shards", "--on-bad-data", "skip") == 0
    out = capsys.readouterr().out
    place = f"{given}/annotations/instances_train2017.json"
    assert (
        f"  {place}: annotation 11 has the category 7, which is not among the categories\n"
        f"  {place}: image 14 is 000000000014.jpg, which is not in {given}/train2017\n"
        f"  {given}/train2017/stray.jpg is not among the images of {place}\n"
        "3 images and annotations cannot be used (above) and are skipped\n"
    ) in out
    found = read(tmp_path / "shards", "train")
    assert sorted(found) == [11, 12, 13, 15, 16]
    assert found[11]["object/labels"].tolist() == [-1]


def test_an_object_without_iscrowd_is_none_and_the_truth_says_so(tmp_path: Path) -> None:
    """pycocotools needs the field."""
    files = coco_data.contents()
    name = "annotations/instances_val2017.json"
    annotated = json.loads(files[name])
    for each in annotated["annotations"][1:]:
        del each["iscrowd"]
    files[name] = json.dumps(annotated).encode()
    assert run(coco_data.write_folders(tmp_path / "source", files), tmp_path / "shards") == 0
    truth = json.loads((tmp_path / "shards/instances_validation.json").read_text())
    assert [each["iscrowd"] for each in truth["annotations"]] == [1, 0, 0]


def test_reports_a_segmentation_apart_from_its_box(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = coco_data.contents(lambda train: train["annotations"][1].update(bbox=[40, 25, 10, 10]))
    assert run(coco_data.write_folders(tmp_path / "source", files), tmp_path / "shards") == 1
    assert "has annotation 11 without a pixel of its segmentation in its box" in capsys.readouterr().out


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Return folders with an image that is cut off, one of another size, and a validation image that is no image."""
    files = coco_data.contents()
    files["train2017/000000000013.jpg"] = files["train2017/000000000013.jpg"][:-30]
    files["train2017/000000000015.jpg"] = coco_data.jpeg(15, 60, 40)
    files["val2017/000000000102.jpg"] = b"<html>"
    return coco_data.write_folders(tmp_path / "source", files)


def test_reports_damaged_images_and_does_not_write_their_shards(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(damaged, tmp_path / "shards") == 1
    assert (
        f"  {damaged}/train2017/000000000013.jpg (image 13) cannot be decoded: its JPEG data is damaged or cut off\n"
        f"  {damaged}/train2017/000000000015.jpg (image 15) has 40 x 60 pixels, but 60 x 40 in "
        f"{damaged}/annotations/instances_train2017.json\n"
        f"  {damaged}/val2017/000000000102.jpg (image 102) cannot be decoded: it begins with b'<html>' and is not a "
        "complete JPEG, PNG, GIF or BMP\nFAIL: 3 images are damaged (above), and their shards are not written;"
    ) in capsys.readouterr().out
    assert not list((tmp_path / "shards").glob("validation-*"))
    assert not (tmp_path / "shards/instances_validation.json").exists()


def test_an_image_above_the_limit_is_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = coco_data.contents()
    files["train2017/000000000013.jpg"] = coco_data.jpeg(13, 1000, 1001)
    source = coco_data.write_folders(tmp_path / "source", files)
    assert run(source, tmp_path / "shards", "--max-megapixels", "1") == 1
    assert (
        f"  {source}/train2017/000000000013.jpg (image 13) has 1001 x 1000 pixels, but at most 1 megapixels are decoded"
    ) in capsys.readouterr().out


def test_skips_damaged_images_everywhere(damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "shards"
    for _ in range(2):
        assert run(damaged, output, "--on-bad-data", "skip") == 0
        assert "\ntrain: 4 images in 2 shards, 2 damaged ones are skipped\n" in capsys.readouterr().out
    truth = json.loads((output / "instances_validation.json").read_bytes())
    assert [image["id"] for image in truth["images"]] == [101, 103]
    assert {each["image_id"] for each in truth["annotations"]} == {101, 103}
    # A run that does not skip them reports them again.
    assert run(damaged, output) == 1


def test_a_full_disk_keeps_the_finished_shards(
    source: Path, converted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 14:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UserError, match=r"cannot be written \(No space left on device\); free some space"):
            run(source, tmp_path)
    assert run(source, tmp_path) == 0
    assert contents(tmp_path) == contents(converted)


# ---------------------------------------------------------------------------------------------------------- source


def message(folder: Path, *, allow_missing: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        coco_source.find(folder, allow_missing=allow_missing)
    return str(caught.value)


def test_rejects_a_folder_with_another_layout(tmp_path: Path) -> None:
    layout = (
        "train2017.zip or train2017/, val2017.zip or val2017/, and annotations_trainval2017.zip or annotations/ with "
        "instances_train2017.json and instances_val2017.json"
    )
    assert message(tmp_path / "gone") == (
        f"'--source' is {tmp_path}/gone, which is not a folder; give the folder with {layout}"
    )
    for name in ("train2014.zip", "val2014.zip"):
        (tmp_path / name).touch()
    assert message(tmp_path) == (
        f"'--source' is {tmp_path}, which has no train2017 and contains train2014.zip, val2014.zip; give the folder "
        f"with {layout}"
    )
    (tmp_path / "train2017").mkdir()
    assert message(tmp_path).startswith(f"'--source' is {tmp_path}, which has no annotations/instances_train2017.json")


def test_rejects_archives_of_another_year(tmp_path: Path) -> None:
    folder = coco_data.write_archives(tmp_path / "a", coco_data.contents())
    with zipfile.ZipFile(folder / "train2017.zip", "w") as archive:
        archive.writestr("train2014/COCO_train2014_000000000009.jpg", b"")
    assert message(folder) == (
        f"{folder}/train2017.zip contains train2014/COCO_train2014_000000000009.jpg, which is not in train2017/; "
        "give COCO's archive of 2017"
    )
    folder = coco_data.write_archives(tmp_path / "b", coco_data.contents())
    with zipfile.ZipFile(folder / "annotations_trainval2017.zip", "w") as archive:
        archive.writestr("annotations/instances_train2014.json", b"{}")
    assert message(folder) == (
        f"{folder}/annotations_trainval2017.zip contains no annotations/instances_train2017.json; "
        "give COCO's archive of 2017"
    )


@pytest.mark.parametrize("name", ["train2017.zip", "annotations_trainval2017.zip"])
def test_rejects_an_archive_that_is_cut_off(tmp_path: Path, name: str) -> None:
    folder = coco_data.write_archives(tmp_path / "source", coco_data.contents())
    (folder / name).write_bytes((folder / name).read_bytes()[:-40])
    assert message(folder).startswith(f"{folder}/{name} cannot be ")
    assert message(folder).endswith("download it again")


def test_a_damaged_member_of_the_annotations_is_an_error(tmp_path: Path) -> None:
    folder = coco_data.write_archives(tmp_path / "source", coco_data.contents(), zipfile.ZIP_DEFLATED)
    path = folder / "annotations_trainval2017.zip"
    content = bytearray(path.read_bytes())
    content[200:220] = bytes(20)
    path.write_bytes(content)
    assert message(folder).startswith(f"{path} cannot be read (")


def test_rejects_different_categories(tmp_path: Path) -> None:
    files = coco_data.contents(lambda train: train["categories"].append({"id": 9, "name": "boat"}))
    folder = coco_data.write_folders(tmp_path / "source", files)
    assert message(folder) == (
        f"{folder}/annotations/instances_train2017.json and {folder}/annotations/instances_val2017.json have different "
        "categories; give both splits of the same dataset"
    )


def test_coco_must_be_complete(tmp_path: Path) -> None:
    eighty = [{"id": number, "name": f"c{number}"} for number in range(2, 80)]
    eighty += [{"id": 1, "name": "person"}, {"id": 90, "name": "toothbrush"}]
    files = coco_data.contents()
    for name in ("train2017", "val2017"):
        path = f"annotations/instances_{name}.json"
        files[path] = json.dumps({**json.loads(files[path]), "annotations": [], "categories": eighty}).encode()
    folder = coco_data.write_folders(tmp_path / "source", files)
    assert message(folder) == (
        f"{folder}/train2017 contains 6 images of {folder}/annotations/instances_train2017.json, but COCO 2017 has "
        "118,287 (train); download or extract it again, or convert the other images with '--on-bad-data skip'"
    )
    assert coco_source.find(folder, allow_missing=True).sentences()[-1] == (
        "categories: 80, person to toothbrush, COCO's"
    )


def test_reports_an_input_error_without_tensorflow(tmp_path: Path) -> None:
    code = "import runpy, sys; sys.argv = sys.argv[1:]\ntry: runpy.run_module(sys.argv[0], run_name='__main__')\n"
    check = "finally: assert 'tensorflow' not in sys.modules"
    given = ["training.coco.convert", "--source", str(tmp_path / "gone"), "--output-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", code + check, *given], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr[:20]) == (2, "error: '--source' is")


def test_has_the_defaults_of_the_layout() -> None:
    given = convert.parse(["--source", "a", "--output-dir", "b"])
    assert (given.train_shards, given.validation_shards, given.skip) == (256, 32, False)


def test_boxes_are_those_of_the_annotations(converted: Path) -> None:
    for record in read(converted, "validation").values():
        boxes = record["object/boxes"].reshape(-1, 4)
        assert np.isin(boxes.tolist(), [0, 5, 10, 20, 25, 30, 40]).all()
