import os
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
import tensorflow as tf

from tests.training.imagenet_data import example, jpeg, write_shards
from training.records.numbered_records import Records
from training.records.rank_records import open_split
from training.runtime import ranks
from training.runtime.distributed import share
from training.runtime.errors import UserError


def parsed(records: Records) -> list[tuple[bytes, int]]:
    numbers = list(range(len(records)))
    jpegs, labels = records.parse(tf.constant(records.read(numbers)), tf.constant(numbers, tf.int64))
    return list(zip(jpegs.numpy().tolist(), labels.numpy().tolist(), strict=True))


class OneOf(ranks.Ranks):
    """One of several ranks, which run one after another; the exchanges of those before it are kept."""

    sent: ClassVar[list[Any]] = []
    outcomes: ClassVar[dict[int, Any]] = {}

    def __init__(self, rank: int, size: int) -> None:
        super().__init__(rank, size)
        self._sent = iter(list(self.sent))

    def broadcast(self, value: Any, name: str) -> Any:
        if self.rank():
            return next(self._sent)
        self.sent.append(value)
        return value

    def gather(self, value: Any, name: str) -> list[Any]:
        self.outcomes[self.rank()] = value
        return [self.outcomes[each] for each in sorted(self.outcomes)]


@pytest.mark.parametrize("count", [1, 3, 7])
def test_numbers_records_over_the_sorted_shards(tmp_path: Path, count: int) -> None:
    write_shards(tmp_path, [example(number, label=number + 1) for number in range(10)], count)
    records = open_split(tmp_path, "train", classes=10)
    assert parsed(records) == [(jpeg(number), number + 1) for number in range(10)]
    assert (records.damage, records.damaged) == ([], 0)
    assert records.sizes(range(10)).sum() == sum(path.stat().st_size for path in tmp_path.glob("train-*-of-?????"))


def test_ranks_share_the_listing_and_find_the_same_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path, [example(number, label=number + 1) for number in range(10)], 5, index=False)
    for rank in (0, 1, 2):
        monkeypatch.setattr(ranks, "_current", OneOf(rank, 3))
        with suppress(IndexError):  # The other ranks have not finished.
            open_split(tmp_path, "train", classes=10)
    monkeypatch.setattr(ranks, "_current", OneOf(0, 3))
    records = open_split(tmp_path, "train", classes=10)
    assert parsed(records) == [(jpeg(number), number + 1) for number in range(10)]
    assert [len(OneOf.outcomes[rank][0]) for rank in range(3)] == [2, 2, 1]


def test_an_error_of_another_rank_ends_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneOfTwo(ranks.Ranks):
        def gather(self, value: Any, name: str) -> list[Any]:
            return [value, ([], UserError("of another rank"))]

    monkeypatch.setattr(ranks, "_current", OneOfTwo(0, 2))
    with pytest.raises(UserError, match="of another rank"):
        share(str, [1, 2])


@pytest.mark.parametrize("validation", ["validation", "val"])
def test_labels_of_a_jpeg_folder_follow_its_sorted_classes(tmp_path: Path, validation: str) -> None:
    contents: dict[bytes, tuple[str, int]] = {}
    for split, classes in (("train", ["n02", "n01", "n03"]), (validation, ["n03", "n01"])):
        for name in classes:
            (tmp_path / split / name).mkdir(parents=True)
            for index in range(4):
                file = tmp_path / split / name / f"{index}.{'JPEG' if index % 2 else 'jpg'}"
                file.write_bytes(jpeg(len(contents)))
                contents[file.read_bytes()] = (split, int(name[1:]))
    (tmp_path / "train/n01/notes.txt").touch()
    for split, name, images in (("train", "train", 12), ("validation", validation, 8)):
        records = open_split(tmp_path, split, classes=3)
        found = parsed(records)
        assert {content: (name, label) for content, label in found}.items() <= contents.items()
        assert len(found) == images
        assert [Path(records.where(number)).read_bytes() for number in range(images)] == [each for each, _ in found]
    # Not one class after the other: a rank has a share of adjacent records.
    labels = [label for _, label in parsed(open_split(tmp_path, "train", classes=3))]
    assert labels != sorted(labels)


@pytest.mark.parametrize(
    ("files", "split", "message"),
    [
        (["train/a/1.jpg", "train/b/1.jpg", "train/c/1.jpg"], "train", "has 3 classes, but '--classes' is 2; give 3"),
        (["train/a/1.jpg", "val/b/1.jpg"], "validation", "where val/b is a class without a folder in train; add or"),
        (["train/a/1.txt"], "train", "whose folder train has no file *.JPEG in a class folder; add them"),
        (
            ["train/a/1.jpg", "train/b/1.txt"],
            "train",
            "where 1 of 2 classes have no file *.JPEG in train, such as b; add images, or remove the class",
        ),
        (
            ["train/a/1.jpg", "train/b/1.PNG"],
            "train",
            "where train/b has images that are no JPEG, such as 1.PNG; convert them to JPEG, or move them elsewhere",
        ),
        (
            ["train/a/1.jpg"],
            "validation",
            "which has a folder train, but none named validation or val; add val/<class>",
        ),
        (
            ["val/a/1.jpg"],
            "validation",
            "which has no folders train/<class> and validation/<class>; give a folder with them",
        ),
    ],
)
def test_rejects_a_folder_without_a_dataset(tmp_path: Path, files: list[str], split: str, message: str) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    with pytest.raises(UserError) as caught:
        open_split(tmp_path, split, classes=2)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"'--data-dir' is {tmp_path}, ")


def test_rejects_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing, which is not a folder; give the folder of the dataset"):
        open_split(tmp_path / "missing", "train", classes=2)


def test_rejects_shards_without_a_record(tmp_path: Path) -> None:
    write_shards(tmp_path, [], 2)
    with pytest.raises(UserError, match="whose train shards have no record; convert the images again"):
        open_split(tmp_path, "train", classes=2)


def test_rejects_or_counts_a_missing_and_a_truncated_shard(tmp_path: Path) -> None:
    paths = write_shards(tmp_path, [example(number) for number in range(12)], 4)
    os.truncate(paths[1], paths[1].stat().st_size - 1)
    with pytest.raises(UserError, match=f"{paths[1]}: record 2 at byte [0-9]+ is cut off: the file ends in the middle"):
        open_split(tmp_path, "train", classes=1)
    paths[3].unlink()
    with pytest.raises(UserError, match="where 1 of 4 train shards are missing: train-00003-of-00004"):
        open_split(tmp_path, "train", classes=1)
    records = open_split(tmp_path, "train", classes=1, skip_damaged=True)
    assert (len(records), records.damaged) == (8, 1)
    assert records.damage[0] == "the shard train-00003-of-00004 is missing"
    assert records.damage[1].startswith(f"{paths[1]}: record 2 at byte ")
