import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import tensorflow as tf

from training.imagenet import imagenet_example
from training.records import shard_files
from training.runtime.errors import UserError


def examples(*labels: int) -> list[bytes]:
    return [
        imagenet_example.encode(jpeg=b"x" * label, label=label, synset="n", filename="f", height=1, width=1)
        for label in labels
    ]


def write_shard(path: Path, contents: Iterable[bytes], classes: int) -> int:
    return shard_files.write_shard(path, contents, classes, imagenet_example.labels)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")


def message(folder: Path, split: str = "train") -> str:
    with pytest.raises(UserError) as caught:
        shard_files.find(folder, split)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------ find


def test_names() -> None:
    assert shard_files.shard_name("train", 0, 1024) == "train-00000-of-01024"
    assert shard_files.shard_name("validation", 127, 128) == "validation-00127-of-00128"
    assert shard_files.index_path(Path("/d/train-00000-of-01024")) == Path("/d/train-00000-of-01024.idx")


def test_finds_the_shards_of_a_split_in_order(tmp_path: Path) -> None:
    touch(tmp_path, "validation-00001-of-00002", "train-00000-of-00001", "validation-00000-of-00002")
    touch(tmp_path, "validation-00000-of-00002.idx", ".validation-00001-of-00002.partial", "synsets.txt")
    found = shard_files.find(tmp_path, "validation")
    assert found.paths == [tmp_path / "validation-00000-of-00002", tmp_path / "validation-00001-of-00002"]
    assert found.missing == []


def test_reports_the_number_of_missing_shards_and_the_first_names(tmp_path: Path) -> None:
    touch(tmp_path, "train-00002-of-00009")
    assert message(tmp_path) == (
        f"'--data-dir' is {tmp_path}, where 8 of 9 train shards are missing: train-00000-of-00009, "
        "train-00001-of-00009, train-00003-of-00009, train-00004-of-00009, train-00005-of-00009, and 3 more; "
        "copy or convert them again"
    )


@pytest.mark.parametrize(("count", "allowed"), [(3, 1), (300, 3)])
def test_a_few_shards_may_be_missing_if_that_is_allowed(tmp_path: Path, count: int, allowed: int) -> None:
    names = [shard_files.shard_name("train", index, count) for index in range(count)]
    touch(tmp_path, *names[allowed:])
    found = shard_files.find(tmp_path, "train", allow_missing=True)
    assert found.paths == [tmp_path / name for name in names[allowed:]]
    assert found.missing == names[:allowed]
    found.paths[0].unlink()
    with pytest.raises(UserError) as caught:
        shard_files.find(tmp_path, "train", allow_missing=True)
    assert f"where {allowed + 1} of {count} train shards are missing ('--on-bad-data skip' allows {allowed}): " in str(
        caught.value
    )


def test_rejects_two_datasets_in_one_folder(tmp_path: Path) -> None:
    touch(tmp_path, "train-00000-of-00001", "train-00000-of-01024")
    assert message(tmp_path) == (
        f"'--data-dir' is {tmp_path}, which has train shards of 2 datasets: -of-00001 and -of-01024; "
        "move the files of all but one into another folder"
    )


def test_rejects_a_missing_folder(tmp_path: Path) -> None:
    assert message(tmp_path / "data") == (
        f"'--data-dir' is {tmp_path}/data, which is not a folder; give the folder with the shards"
    )


def test_reports_the_content_of_a_folder_without_shards(tmp_path: Path) -> None:
    given = f"'--data-dir' is {tmp_path}, which has no train shards such as train-00000-of-01024"
    assert message(tmp_path) == f"{given}, but no files; give the folder with the shards"
    touch(tmp_path, "validation-00000-of-00001")
    assert message(tmp_path) == f"{given}, but validation-00000-of-00001; give the folder with the shards"
    touch(tmp_path, "old/train-00000-of-00001", "new/validation-00000-of-00001")
    assert message(tmp_path) == (
        f"{given}, but shards are in {tmp_path}/new, {tmp_path}/old; give one folder with the shards of both splits"
    )


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("train/n01440764/n01440764_1.JPEG", "imagenet"),
        ("n01440764/n01440764_1.JPEG", "imagenet"),
        ("n01440764.tar", "imagenet"),
        ("train2017/000000000009.jpg", "coco"),
        ("train2017.zip", "coco"),
    ],
)
def test_reports_images_that_are_not_converted(tmp_path: Path, name: str, dataset: str) -> None:
    touch(tmp_path, name)
    assert message(tmp_path) == (
        f"'--data-dir' is {tmp_path}, which has no train shards such as train-00000-of-01024, but images; "
        f"convert them first: python -m training.{dataset}.convert --help"
    )


# ----------------------------------------------------------------------------------------------------------- write


def test_reads_a_shard_as_written_and_by_its_index(tmp_path: Path) -> None:
    path, contents = tmp_path / "train-00000-of-00001", examples(3, 1, 2)
    assert write_shard(path, iter(contents), 3) == 3
    assert list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) == contents
    lines = [line.split() for line in (tmp_path / "train-00000-of-00001.idx").read_text().splitlines()]
    data = path.read_bytes()
    # A record is its length (8 bytes), the length's checksum (4), the content, and the content's checksum (4).
    assert [data[int(at) + 12 : int(at) + int(size) - 4] for at, size in lines] == contents
    assert sorted(os.listdir(tmp_path)) == ["train-00000-of-00001", "train-00000-of-00001.idx"]
    assert shard_files.count_examples(path) == 3


def test_writes_the_index_before_the_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def recorded_fsync(handle: int) -> None:
        events.append("fsync")
        fsync(handle)

    def recorded_replace(path: Path, target: Path) -> Path:
        events.append(target.name)
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    write_shard(tmp_path / "shard", examples(1), 1)
    assert events == ["fsync", "fsync", "shard.idx", "fsync", "shard", "fsync"]


@pytest.mark.parametrize("label", [0, 4])
def test_rejects_a_label_without_a_class(tmp_path: Path, label: int) -> None:
    with pytest.raises(UserError, match=rf"would have the label {label}, but labels are 1 to 3; check the"):
        write_shard(tmp_path / "shard", examples(1, label), 3)
    assert list(tmp_path.iterdir()) == []


def test_a_shard_that_was_written_wrongly_gets_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def damage(handle: int) -> None:
        (path,) = tmp_path.glob("*/shard")
        with path.open("r+b") as stream:
            stream.seek(20)
            stream.write(b"?")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", damage)
    with pytest.raises(UserError) as caught:
        write_shard(tmp_path / "shard", examples(1), 1)
    assert str(caught.value) == (
        f"the shard {tmp_path}/shard cannot be written (it differs when it is read back); free some space or fix the "
        "cause, then start again: the finished shards are kept"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError) as caught:
        write_shard(tmp_path / "shard", examples(1), 1)
    assert str(caught.value) == (
        f"the shard {tmp_path}/shard cannot be written (No space left on device); free some space or fix the cause, "
        "then start again: the finished shards are kept"
    )
    assert list(tmp_path.iterdir()) == []


def test_reports_a_deleted_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be written \(.*No such file or directory\)"):
        write_shard(tmp_path / "gone" / "shard", examples(1), 1)


@pytest.mark.parametrize("damage", ["cut", "grown", "no index", "cut index", "other index", "no shard"])
def test_a_shard_that_differs_from_its_index_is_not_done(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "shard"
    index = tmp_path / "shard.idx"
    write_shard(path, examples(1, 2), 2)
    content, lines = path.read_bytes(), index.read_text()
    damages: dict[str, Callable[[], object]] = {
        "cut": lambda: path.write_bytes(content[:-1]),
        "grown": lambda: path.write_bytes(content + b"x"),
        "no index": index.unlink,
        "cut index": lambda: index.write_text(lines[:-3]),
        "other index": lambda: index.write_text("\0\1\2"),
        "no shard": path.unlink,
    }
    damages[damage]()
    assert shard_files.count_examples(path) is None
