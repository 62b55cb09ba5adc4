import os
from pathlib import Path

import pytest

from tests.training.imagenet import imagenet_archives
from training.imagenet.convert import source
from training.imagenet.convert.images import Image, Split
from training.runtime.errors import UserError

LAYOUT = (
    "ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz, "
    "or the folders train/ and val/ with a folder for each class in both"
)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")


def message(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        source.find(folder, 2, allow_missing=False)
    return str(caught.value)


def names(found: source.Source) -> dict[str, list[str]]:
    return {name: [f"{image.synset}/{image.name}" for image in split.images] for name, split in found.splits.items()}


def test_archives_and_folders_have_the_same_images_in_the_same_order(tmp_path: Path) -> None:
    archives = source.find(imagenet_archives.write_archives(tmp_path / "archives"), 2, allow_missing=False)
    folders = source.find(imagenet_archives.write_folders(tmp_path / "folders"), 2, allow_missing=False)
    assert archives.synsets == folders.synsets == ["n01440764", "n02105855", "n07742313"]
    assert names(archives) == names(folders)
    assert folders.sentences() == [
        f"train: 21 images of 3 classes in {tmp_path}/folders/train",
        f"validation: 6 images of 3 classes in {tmp_path}/folders/val",
        "classes: n01440764 to n07742313, not ImageNet's, so their images are counted but not compared",
    ]


def test_training_folders_go_with_validation_archives(tmp_path: Path) -> None:
    folder = imagenet_archives.write_archives(tmp_path / "archives")
    (folder / "ILSVRC2012_img_train.tar").unlink()
    imagenet_archives.write_folders(folder)
    found = source.find(folder, 2, allow_missing=False)
    assert found.splits["train"].place == folder / "train"
    assert found.splits["validation"].place == folder / "ILSVRC2012_img_val.tar"


def test_the_wrong_folder(tmp_path: Path) -> None:
    given = f"'--source' is {tmp_path}, which holds"
    assert message(tmp_path) == f"{given} nothing; give the folder that holds {LAYOUT}"
    touch(tmp_path, "ILSVRC2012_img_train.tar.part", *"bcdef")
    assert message(tmp_path) == (
        f"{given} ILSVRC2012_img_train.tar.part, b, c, d, e and 1 more; give the folder that holds {LAYOUT}"
    )
    assert message(tmp_path / "b") == (
        f"'--source' is {tmp_path}/b, which is not a folder; give the one that holds {LAYOUT}"
    )


def test_the_development_kit_is_needed(tmp_path: Path) -> None:
    folder = imagenet_archives.write_archives(tmp_path / "archives")
    (folder / "ILSVRC2012_devkit_t12.tar.gz").unlink()
    assert message(folder) == (
        f"'--source' is {folder}, which holds ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar; "
        f"give the folder that holds {LAYOUT}"
    )


def test_validation_images_that_are_not_sorted_into_classes(tmp_path: Path) -> None:
    touch(tmp_path, "train/n1/a.JPEG", "val/ILSVRC2012_val_00000001.JPEG")
    assert message(tmp_path) == (
        f"{tmp_path}/val holds ILSVRC2012_val_00000001.JPEG, which is no folder; "
        f"give one folder for each class there, such as {tmp_path}/val/n01440764"
    )


def test_folders_that_hold_no_images(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    assert message(tmp_path).startswith(f"{tmp_path}/train is empty; give one folder for each class there")
    (tmp_path / "train/n1").mkdir()
    assert message(tmp_path).startswith(f"{tmp_path}/train/n1 is empty; give the class's images there")
    touch(tmp_path, "train/n1/.DS_Store")
    assert message(tmp_path).startswith(f"{tmp_path}/train/n1 is empty; give the class's images there")
    touch(tmp_path, "train/n1/images/a.JPEG")
    assert message(tmp_path) == (
        f"{tmp_path}/train/n1 holds images, which is no image; give the class's images there, and nothing else"
    )


@pytest.mark.parametrize(("missing", "other"), [("train", "val"), ("val", "train")])
def test_every_class_needs_images_of_both_splits(tmp_path: Path, missing: str, other: str) -> None:
    touch(tmp_path, f"{missing}/n1/a", f"{other}/n1/b", f"{other}/n2/c", f"{other}/n3/d")
    assert message(tmp_path) == (
        f"{tmp_path}/{missing} has no images of 2 classes that the other split has, such as n2; "
        "give both splits of the same dataset"
    )


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    touch(tmp_path, "train/n1/a")
    # Root may read everything.
    monkeypatch.setattr(os, "scandir", refuse)
    assert message(tmp_path) == (f"{tmp_path}/train cannot be read (Permission denied); mend that, then start again")


# ------------------------------------------------------------------------------------------------------- ImageNet


def imagenet(monkeypatch: pytest.MonkeyPatch, train: int) -> None:
    """Lists as many images as there are in ImageNet's classes, or fewer, without files."""
    synsets = ["n01440764", *(f"n0{number}" for number in range(2_000_000, 2_000_998)), "n15075141"]

    def split(place: Path, images: int) -> Split:
        return Split(place, ([Image(synset, "") for synset in synsets] * 1282)[:images])

    monkeypatch.setattr(source, "_train", lambda folder, _: split(folder / "train", train))
    monkeypatch.setattr(source, "_validation", lambda folder, _: split(folder / "val", 50_000))


def test_imagenet_must_be_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imagenet(monkeypatch, 1_281_166)
    assert message(tmp_path) == (
        f"{tmp_path}/train holds 1,281,166 images, but ImageNet has 1,281,167 (train); the smallest class is "
        "n02000165 with 1,281: download or extract it again, or convert what is there with '--on-bad-data skip'"
    )
    found = source.find(tmp_path, 1, allow_missing=True)
    assert len(found.splits["train"].images) == 1_281_166


def test_imagenet_is_known_by_its_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imagenet(monkeypatch, 1_281_167)
    found = source.find(tmp_path, 1, allow_missing=False)
    assert found.sentences()[0] == f"train: 1,281,167 images of 1,000 classes in {tmp_path}/train"
    assert found.sentences()[2] == "classes: n01440764 to n15075141, ImageNet's"
