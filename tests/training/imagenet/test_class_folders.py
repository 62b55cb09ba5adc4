import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.imagenet import imagenet_archives
from training.imagenet import class_folders
from training.records import jpeg_folder
from training.runtime import files

ROOT = Path(__file__).parents[3]
VALIDATION = {
    "n01440764": ["ILSVRC2012_val_00000003.JPEG", "ILSVRC2012_val_00000004.JPEG"],
    "n02105855": ["ILSVRC2012_val_00000002.JPEG", "ILSVRC2012_val_00000006.JPEG"],
    "n07742313": ["ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000005.JPEG"],
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return imagenet_archives.write_archives(tmp_path_factory.mktemp("drawn") / "archives")


@pytest.fixture
def source(drawn: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(drawn, tmp_path / "source"))


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def place(source: Path, output: Path) -> int:
    return class_folders.main(["--source", str(source), "--output-dir", str(output), "--workers", "2"])


def tree(folder: Path) -> dict[str, list[str]]:
    return {each.name: sorted(os.listdir(each)) for each in sorted(folder.iterdir())}


def loose(source: Path, folder: Path) -> None:
    """Extract the archive of the validation images."""
    with tarfile.open(source / "ILSVRC2012_img_val.tar") as archive:
        archive.extractall(folder)  # No filter: Python 3.11.2 has none.
    (source / "ILSVRC2012_img_val.tar").unlink()


def test_both_archives_become_class_folders(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "imagenet"
    assert place(source, output) == 0
    assert tree(output / "val") == VALIDATION
    train = {str(path.relative_to(output / "train")): path.read_bytes() for path in output.glob("train/*/*")}
    assert train == imagenet_archives.train_images()
    validation = {path.name: path.read_bytes() for path in output.glob("val/*/*")}
    assert validation == imagenet_archives.validation_images()
    printed = capsys.readouterr().out
    assert "val: 6 images, 6 of them written by this run\ntrain: 21 images, 21 of them written" in printed
    assert printed.endswith("as in the source, and nothing else is there\n")


def test_the_training_programs_read_the_folders(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "imagenet"
    place(source, output)
    records = jpeg_folder.load(output, "validation", classes=3)
    names = [records.where(number).rpartition("/")[2] for number in range(len(records))]
    labels = {name: records.image(b"", number)[1] for number, name in enumerate(names)}
    assert labels["ILSVRC2012_val_00000001.JPEG"] == 3
    assert labels["ILSVRC2012_val_00000002.JPEG"] == 2
    assert labels["ILSVRC2012_val_00000003.JPEG"] == 1


@pytest.mark.parametrize("below", ["", "val"])
def test_validation_images_that_were_extracted(below: str, source: Path, tmp_path: Path) -> None:
    (source / "ILSVRC2012_img_train.tar").unlink()
    loose(source, source / below)
    (source / below / ".staged").mkdir()
    output = tmp_path / "imagenet"
    assert place(source, output) == 0
    assert tree(output / "val") == VALIDATION
    assert not (output / "train").exists()
    # A staged copy stays as the next staging expects it.
    assert len(list((source / below).glob("*.JPEG"))) == 6


def test_a_second_run_writes_nothing(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "imagenet"
    place(source, output)
    before = {path: path.stat().st_mtime_ns for path in output.glob("*/*/*")}
    assert len(before) == 27
    assert place(source, output) == 0
    assert {path: path.stat().st_mtime_ns for path in output.glob("*/*/*")} == before
    assert "val: 6 images, 0 of them written by this run" in capsys.readouterr().out


def test_what_is_missing_cut_off_or_changed_is_written_again(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "imagenet"
    place(source, output)
    missing, short, changed = sorted(output.glob("val/*/*"))[:3]
    content = {path: path.read_bytes() for path in (missing, short, changed)}
    missing.unlink()
    short.write_bytes(content[short][:100])
    # Of the same size.
    changed.write_bytes(content[changed][:-2] + b"\0\0")
    assert place(source, output) == 0
    assert {path: path.read_bytes() for path in content} == content


def test_a_killed_run_leaves_no_half_image_and_the_next_one_completes_it(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "imagenet"
    folder = output / "val/n01440764"
    folder.mkdir(parents=True)
    (folder / ".ILSVRC2012_val_00000003.JPEG.partial").write_bytes(b"half")
    assert place(source, output) == 0
    assert tree(output / "val") == VALIDATION


def test_other_files_and_classes_are_named(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "imagenet"
    (output / "val/n00000001").mkdir(parents=True)
    (output / "val/n01440764").mkdir()
    (output / "val/n01440764/cat.JPEG").write_bytes(b"")
    assert place(source, output) == 1
    printed = capsys.readouterr().out
    assert f"  {output}/val/n01440764/cat.JPEG is not of the source; remove it" in printed
    assert f"  {output}/val/n00000001 is not of the source; remove it" in printed
    assert "FAIL: 2 files are wrong" in printed


def test_an_image_that_cannot_be_read_is_named(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loose(source, source)
    image = source / "ILSVRC2012_val_00000004.JPEG"
    image.unlink()
    image.symlink_to(tmp_path / "gone")
    assert place(source, tmp_path / "imagenet") == 1
    assert f"  {image}: cannot be read (No such file or directory)" in capsys.readouterr().out


def test_a_file_that_reads_back_differently_gets_no_name(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file system that loses a write is found before the image has its name."""
    written = files.write_atomically
    monkeypatch.setattr(files, "write_atomically", lambda path, content, check: written(path, content[:-1], check))
    assert place(source, tmp_path / "imagenet") == 2
    assert "reads back differently" in capsys.readouterr().err
    assert not list((tmp_path / "imagenet").glob("*/*/*.JPEG"))


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ("ILSVRC2012_devkit_t12.tar.gz", "does not contain ILSVRC2012_devkit_t12.tar.gz and ILSVRC2012_img_val.tar"),
        ("ILSVRC2012_img_val.tar", "or in val/; give the folder with them"),
    ],
)
def test_rejects_an_incomplete_source(
    removed: str, message: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / removed).unlink()
    assert place(source, tmp_path / "imagenet") == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: '--source' is {source}, which ")
    assert message in error


def test_rejects_too_few_validation_images(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loose(source, source)
    (source / "ILSVRC2012_val_00000004.JPEG").unlink()
    assert place(source, tmp_path / "imagenet") == 2
    assert f"{source} contains 5 images, but ILSVRC2012_devkit_t12.tar.gz has 6 labels" in capsys.readouterr().err


def test_rejects_training_images_of_other_classes(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = {path: content for path, content in imagenet_archives.train_images().items() if "n02105855" not in path}
    archive = imagenet_archives.tar(imagenet_archives.class_archives(images))
    (source / "ILSVRC2012_img_train.tar").write_bytes(archive)
    assert place(source, tmp_path / "imagenet") == 2
    assert "ILSVRC2012_img_train.tar has other classes than" in capsys.readouterr().err


def test_the_folders_can_be_beside_the_archives(source: Path) -> None:
    assert [place(source, source) for _ in range(2)] == [0, 0]
    assert tree(source / "val") == VALIDATION


def test_rejects_the_folder_of_the_loose_images(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loose(source, source / "val")
    assert place(source, source) == 2
    assert "whose val/ has the loose images of '--source'" in capsys.readouterr().err


def test_rejects_a_folder_where_it_cannot_write(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert place(source, tmp_path / "file/imagenet") == 2
    assert "a part of the path is a file: give another" in capsys.readouterr().err


def test_a_stop_request_ends_it_with_its_code(source: Path, tmp_path: Path) -> None:
    """The images come from a pipe, so that the request meets a run in the middle."""
    loose(source, source)
    pipe = source / "ILSVRC2012_val_00000001.JPEG"
    pipe.unlink()
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "training.imagenet.class_folders", "--source", str(source)]
    run = subprocess.Popen(
        [*command, "--output-dir", str(tmp_path / "imagenet"), "--workers", "1"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Returns when the run reads the pipe.
    with pipe.open("wb"):
        run.send_signal(signal.SIGTERM)
        _, error = run.communicate()
    assert (run.returncode, error) == (143, "stopped; the same command resumes\n")


def test_it_starts_without_a_framework() -> None:
    code = "import sys, training.imagenet.class_folders; assert not {'tensorflow', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
