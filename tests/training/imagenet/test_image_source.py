import os
from pathlib import Path

import pytest

from tests.training.imagenet import imagenet_archives
from training.imagenet.convert import image_source
from training.imagenet.convert.class_images import Image, Split
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
        image_source.find(folder, 2, allow_missing=False)
    return str(caught.value)


def names(found: image_source.Source) -> dict[str, list[str]]:
    return {name: [f"{image.synset}/{image.name}" for image in split.images] for name, split in found.splits.items()}


def test_archives_and_folders_have_the_same_images_in_the_same_order(tmp_path: Path) -> None:
    archives = image_source.find(imagenet_archives.write_archives(tmp_path / "archives"), 2, allow_missing=False)
    folders = image_source.find(imagenet_archives.write_folders(tmp_path / "folders"), 2, allow_missing=False)
    assert archives.synsets == folders.synsets == ["n01440764", "n02105855", "n07742313"]
    assert names(archives) == names(folders)
    assert folders.sentences() == [
        f"train: 21 images of 3 classes in {tmp_path}/folders/train",
        f"validation: 6 images of 3 classes in {tmp_path}/folders/val",
        "classes: n01440764 to n07742313, not ImageNet's, so their images are counted but not compared",
    ]


def test_accepts_training_folders_with_validation_archives(tmp_path: Path) -> None:
    folder = imagenet_archives.write_archives(tmp_path / "archives")
    (folder / "ILSVRC2012_img_train.tar").unlink()
    imagenet_archives.write_folders(folder)
    found = image_source.find(folder, 2, allow_missing=False)
    assert found.splits["train"].place == folder / "train"
    assert found.splits["validation"].place == folder / "ILSVRC2012_img_val.tar"


def test_rejects_a_folder_with_another_layout(tmp_path: Path) -> None:
    given = f"'--source' is {tmp_path}, which contains"
    assert message(tmp_path) == f"{given} nothing; give the folder with {LAYOUT}"
    touch(tmp_path, "ILSVRC2012_img_train.tar.part", *"bcdef")
    assert message(tmp_path) == (
        f"{given} ILSVRC2012_img_train.tar.part, b, c, d, e, and 1 more; give the folder with {LAYOUT}"
    )
    assert message(tmp_path / "b") == (
        f"'--source' is {tmp_path}/b, which is not a folder; give the folder with {LAYOUT}"
    )


def test_requires_the_development_kit(tmp_path: Path) -> None:
    folder = imagenet_archives.write_archives(tmp_path / "archives")
    (folder / "ILSVRC2012_devkit_t12.tar.gz").unlink()
    assert message(folder) == (
        f"'--source' is {folder}, which contains ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar; "
        f"give the folder with {LAYOUT}"
    )


def test_rejects_validation_images_without_class_folders(tmp_path: Path) -> None:
    touch(tmp_path, "train/n1/a.JPEG", "val/ILSVRC2012_val_00000001.JPEG")
    assert message(tmp_path) == (
        f"{tmp_path}/val contains ILSVRC2012_val_00000001.JPEG, which is not a folder; "
        f"put one folder for each class there, such as {tmp_path}/val/n01440764"
    )


def test_rejects_folders_without_images(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    assert message(tmp_path).startswith(f"{tmp_path}/train is empty; put one folder for each class there")
    (tmp_path / "train/n1").mkdir()
    assert message(tmp_path).startswith(f"{tmp_path}/train/n1 is empty; put the class's images there")
    touch(tmp_path, "train/n1/.DS_Store")
    assert message(tmp_path).startswith(f"{tmp_path}/train/n1 is empty; put the class's images there")
    touch(tmp_path, "train/n1/images/a.JPEG")
    assert message(tmp_path) == (
        f"{tmp_path}/train/n1 contains images, which is not an image; put the class's images there, and nothing else"
    )


@pytest.mark.parametrize(("missing", "other"), [("train", "val"), ("val", "train")])
def test_requires_images_of_both_splits_for_every_class(tmp_path: Path, missing: str, other: str) -> None:
    touch(tmp_path, f"{missing}/n1/a", f"{other}/n1/b", f"{other}/n2/c", f"{other}/n3/d")
    assert message(tmp_path) == (
        f"{tmp_path}/{missing} has no images of 2 classes of the other split, such as n2; "
        "give both splits of the same dataset"
    )


def test_reports_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    touch(tmp_path, "train/n1/a")
    # Root may read everything.
    monkeypatch.setattr(os, "scandir", deny)
    assert message(tmp_path) == (f"{tmp_path}/train cannot be read (Permission denied); fix that, then start again")


# ------------------------------------------------------------------------------------------------------- ImageNet


def imagenet(monkeypatch: pytest.MonkeyPatch, train: int) -> None:
    """Replace the listing by images of ImageNet's classes, without files."""
    synsets = ["n01440764", *(f"n0{number}" for number in range(2_000_000, 2_000_998)), "n15075141"]

    def split(place: Path, images: int) -> Split:
        return Split(place, ([Image("", synset=synset) for synset in synsets] * 1282)[:images])

    monkeypatch.setattr(image_source, "_train", lambda folder, _: split(folder / "train", train))
    monkeypatch.setattr(image_source, "_validation", lambda folder, _: split(folder / "val", 50_000))


def test_imagenet_must_be_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imagenet(monkeypatch, 1_281_166)
    assert message(tmp_path) == (
        f"{tmp_path}/train contains 1,281,166 images, but ImageNet has 1,281,167 (train); the smallest class is "
        "n02000165 with 1,281: download or extract it again, or convert the other images with '--on-bad-data skip'"
    )
    found = image_source.find(tmp_path, 1, allow_missing=True)
    assert len(found.splits["train"].images) == 1_281_166


def test_recognizes_imagenet_by_its_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imagenet(monkeypatch, 1_281_167)
    found = image_source.find(tmp_path, 1, allow_missing=False)
    assert found.sentences()[0] == f"train: 1,281,167 images of 1,000 classes in {tmp_path}/train"
    assert found.sentences()[2] == "classes: n01440764 to n15075141, ImageNet's"
