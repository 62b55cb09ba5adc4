import zipfile
from pathlib import Path

import pytest

from training.records.conversion import zip_images
from training.records.conversion.source_images import DamagedImageError
from training.runtime.errors import UserError

CONTENTS = {"train/a.jpg": b"first" * 50, "train/b.jpg": b"", "c.jpg": bytes(range(256))}


def archive(path: Path, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as opened:
        opened.writestr("train/", b"")
        opened.writestr("train/.hidden", b"of a file manager")
        for name, content in CONTENTS.items():
            opened.writestr(name, content)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_lists_and_reads_the_files(tmp_path: Path, method: int) -> None:
    found = zip_images.images(archive(tmp_path / "a.zip", method))
    assert {image.member: image.read() for image in found} == CONTENTS
    assert [image.name for image in found] == ["a.jpg", "b.jpg", "c.jpg"]
    assert str(found[0]) == f"{tmp_path}/a.zip: train/a.jpg"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("place", [0, 70])
def test_a_changed_byte_damages_one_image(tmp_path: Path, method: int, place: int) -> None:
    path = archive(tmp_path / "a.zip", method)
    first, _, last = zip_images.images(path)
    content = bytearray(path.read_bytes())
    content[last.offset + place] ^= 0xFF
    path.write_bytes(content)
    assert first.read() == CONTENTS["train/a.jpg"]
    with pytest.raises(DamagedImageError, match=r"checksum|cannot be decompressed|damaged header"):
        last.read()


@pytest.mark.parametrize("size", [0, 100, -1, -30])
def test_rejects_an_archive_that_is_cut_off(tmp_path: Path, size: int) -> None:
    path = archive(tmp_path / "a.zip")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(UserError) as caught:
        zip_images.images(path)
    assert str(caught.value) == (
        f"{path} cannot be listed (File is not a zip file); it is damaged or cut off: download it again"
    )


def test_rejects_another_compression(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        zip_images.images(archive(tmp_path / "a.zip", zipfile.ZIP_LZMA))
    assert str(caught.value) == (
        f"{tmp_path}/a.zip contains train/a.jpg, which is encrypted or not deflated; pack it again"
    )
