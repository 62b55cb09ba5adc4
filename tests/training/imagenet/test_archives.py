import io
import tarfile
from pathlib import Path

import pytest

from tests.training.imagenet import imagenet_archives
from training.imagenet.convert import archives
from training.runtime.errors import UserError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return imagenet_archives.write_archives(tmp_path / "archives")


def train_error(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        archives.train(path, 2)
    return str(caught.value)


def validation_error(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        archives.validation(folder / archives.VALIDATION, folder / archives.DEVKIT)
    return str(caught.value)


def test_training_images_are_ranges_of_the_outer_archive(folder: Path) -> None:
    split = archives.train(folder / archives.TRAIN, 2)
    found = {f"{image.synset}/{image.name}": image.read() for image in split.images}
    assert found == imagenet_archives.train_images()
    assert [image.name for image in split.images] == sorted(path[10:] for path in found)
    assert str(split.images[0]) == f"{folder}/{archives.TRAIN}: n01440764.tar/n01440764_0.JPEG"


def test_validation_classes_come_from_the_development_kit(folder: Path) -> None:
    split = archives.validation(folder / archives.VALIDATION, folder / archives.DEVKIT)
    assert {image.name: image.synset for image in split.images} == {
        "ILSVRC2012_val_00000001.JPEG": "n07742313",
        "ILSVRC2012_val_00000002.JPEG": "n02105855",
        "ILSVRC2012_val_00000003.JPEG": "n01440764",
        "ILSVRC2012_val_00000004.JPEG": "n01440764",
        "ILSVRC2012_val_00000005.JPEG": "n07742313",
        "ILSVRC2012_val_00000006.JPEG": "n02105855",
    }
    assert {image.name: image.read() for image in split.images} == imagenet_archives.validation_images()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_rejects_an_archive_that_is_cut_off(folder: Path, share: float) -> None:
    path = folder / archives.TRAIN
    # Without the blocks of zeros at the end of archives.
    content = path.read_bytes().rstrip(b"\0")
    path.write_bytes(content[: int(len(content) * share)])
    assert train_error(path).startswith(f"{path}")
    assert train_error(path).endswith("; download it again")


def test_rejects_a_damaged_header(folder: Path) -> None:
    path = folder / archives.TRAIN
    image = next(image for image in archives.train(path, 2).images if image.name == "n02105855_2.JPEG")
    content = bytearray(path.read_bytes())
    content[image.offset - 512 : image.offset] = b"?" * 512
    path.write_bytes(content)
    assert train_error(path) == (
        f"{path}: n02105855.tar is damaged or cut off after n02105855_1.JPEG; download it again"
    )


def test_rejects_an_inner_archive_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "train.tar"
    whole = imagenet_archives.class_archives(imagenet_archives.train_images())
    cut = {name: content.rstrip(b"\0") for name, content in whole.items()}
    path.write_bytes(
        imagenet_archives.tar({name: content + bytes(-len(content) % 512) for name, content in cut.items()})
    )
    assert "n07742313.tar is damaged or cut off after n07742313_6.JPEG" in train_error(path)


@pytest.mark.parametrize("content", [b"", b"<html>" * 300, bytes(10)])
def test_rejects_a_file_that_is_not_an_archive(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ILSVRC2012_img_train.tar"
    path.write_bytes(content)
    assert train_error(path).startswith(f"{path} cannot be listed (")


def test_rejects_the_wrong_archive(folder: Path) -> None:
    path = folder / archives.VALIDATION
    assert train_error(path) == (
        f"{path} contains no archives such as n01440764.tar; give the archive of the training images"
    )
    path.write_bytes((folder / archives.TRAIN).read_bytes())
    assert validation_error(folder) == (
        f"{path} contains n07742313.tar, but ILSVRC2012_devkit_t12.tar.gz has labels for the 6 images "
        "ILSVRC2012_val_00000001.JPEG to _00000006.JPEG; give the two archives of the same year"
    )


def test_rejects_fewer_images_than_labels(folder: Path) -> None:
    images = imagenet_archives.validation_images()
    images.pop("ILSVRC2012_val_00000003.JPEG")
    (folder / archives.VALIDATION).write_bytes(imagenet_archives.tar(images))
    assert validation_error(folder) == (
        f"{folder}/ILSVRC2012_img_val.tar contains 5 images, but ILSVRC2012_devkit_t12.tar.gz has 6 labels; "
        "download it again"
    )


@pytest.mark.parametrize("damage", ["cut", "no archive", "no file in it", "no matlab"])
def test_rejects_a_damaged_development_kit(folder: Path, damage: str) -> None:
    path = folder / archives.DEVKIT
    truth = "kit/data/ILSVRC2012_validation_ground_truth.txt"
    path.write_bytes(
        {
            "cut": path.read_bytes()[:200],
            "no archive": b"<html>",
            "no file in it": imagenet_archives.tar({"kit/data/meta.mat": b""}, "w:gz"),
            "no matlab": imagenet_archives.tar({truth: b"1\n", "kit/data/meta.mat": b"<html>" * 100}, "w:gz"),
        }[damage]
    )
    assert validation_error(folder).startswith(f"{path} cannot be read (")
    assert validation_error(folder).endswith("; download it again")


@pytest.mark.parametrize("name", ["../../../escaped", "/tmp/escaped", "n0144076", "n01440764/.."])
def test_a_class_is_no_other_folder(folder: Path, name: str) -> None:
    path = folder / archives.DEVKIT
    path.write_bytes(imagenet_archives.devkit({1: name}, [1] * 6))
    assert (
        validation_error(folder) == f"{path} has the class {name!r}, but a class is n and 8 digits; download it again"
    )
    path.write_bytes(imagenet_archives.devkit({1: "n01440764"}, [1] * 6))
    split = archives.validation(folder / archives.VALIDATION, path)
    assert {image.synset for image in split.images} == {"n01440764"}


def test_ignores_folders_and_hidden_files_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "val.tar"
    with tarfile.open(path, "w") as archive:
        for name, kind, content in (
            ("val", tarfile.DIRTYPE, b""),
            ("val/._x.JPEG", tarfile.REGTYPE, b"12345"),
            ("val/x.JPEG", tarfile.REGTYPE, b"123"),
            ("other", tarfile.DIRTYPE, b""),
        ):
            entry = tarfile.TarInfo(name)
            entry.type, entry.size = kind, len(content)
            archive.addfile(entry, io.BytesIO(content))
    assert [(member.name, member.size) for member in archives.members(path)] == [("val/x.JPEG", 3)]
