import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tests.training.imagenet_data import example, jpeg, write_shards
from training.records.numbered_records import Records, Team
from training.records.rank_records import open_split
from training.runtime.errors import UserError

ALONE = Team()


def parsed(records: Records) -> list[tuple[bytes, int]]:
    numbers = list(range(len(records)))
    jpegs, labels = records.parse(tf.constant(records.read(numbers)), tf.constant(numbers, tf.int64))
    return list(zip(jpegs.numpy().tolist(), labels.numpy().tolist(), strict=True))


def gathers(others: dict[int, Any], rank: int) -> Callable[[Any], list[Any]]:
    """Return a placeholder for the other ranks, which have finished."""

    def gather(value: Any) -> list[Any]:
        others[rank] = value
        return [others[each] for each in sorted(others)]

    return gather


@pytest.mark.parametrize("count", [1, 3, 7])
def test_numbers_records_over_the_sorted_shards(tmp_path: Path, count: int) -> None:
    write_shards(tmp_path, [example(number, label=number + 1) for number in range(10)], count)
    records = open_split(tmp_path, "train", classes=10, team=ALONE)
    assert parsed(records) == [(jpeg(number), number + 1) for number in range(10)]
    assert (records.damage, records.damaged) == ([], 0)
    assert records.sizes(range(10)).sum() == sum(path.stat().st_size for path in tmp_path.glob("train-*-of-?????"))


def test_ranks_share_the_listing_and_find_the_same_records(tmp_path: Path) -> None:
    write_shards(tmp_path, [example(number, label=number + 1) for number in range(10)], 5, index=False)
    outcomes: dict[int, Any] = {}
    for rank in (1, 2):
        try:
            open_split(tmp_path, "train", classes=10, team=Team(rank=rank, size=3, gather=gathers(outcomes, rank)))
        except IndexError:
            pass  # The other ranks have not finished.
    records = open_split(tmp_path, "train", classes=10, team=Team(rank=0, size=3, gather=gathers(outcomes, 0)))
    assert parsed(records) == [(jpeg(number), number + 1) for number in range(10)]
    assert [len(own) for own, _ in (outcomes[rank] for rank in range(3))] == [2, 2, 1]


def test_an_error_of_another_rank_ends_this_one() -> None:
    team = Team(rank=0, size=2, gather=lambda own: [own, ([], UserError("of another rank"))])
    with pytest.raises(UserError, match="of another rank"):
        team.share(str, [1, 2])


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
        records = open_split(tmp_path, split, classes=3, team=ALONE)
        found = parsed(records)
        assert {content: (name, label) for content, label in found}.items() <= contents.items()
        assert len(found) == images
        assert [Path(records.where(number)).read_bytes() for number in range(images)] == [each for each, _ in found]
    # Not one class after the other: a rank has a share of adjacent records.
    labels = [label for _, label in parsed(open_split(tmp_path, "train", classes=3, team=ALONE))]
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
        open_split(tmp_path, split, classes=2, team=ALONE)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"'--data-dir' is {tmp_path}, ")


def test_rejects_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing, which is not a folder; give the folder of the dataset"):
        open_split(tmp_path / "missing", "train", classes=2, team=ALONE)


def test_rejects_shards_without_a_record(tmp_path: Path) -> None:
    write_shards(tmp_path, [], 2)
    with pytest.raises(UserError, match="whose train shards have no record; convert the images again"):
        open_split(tmp_path, "train", classes=2, team=ALONE)


def test_rejects_or_counts_a_missing_and_a_truncated_shard(tmp_path: Path) -> None:
    paths = write_shards(tmp_path, [example(number) for number in range(12)], 4)
    os.truncate(paths[1], paths[1].stat().st_size - 1)
    with pytest.raises(UserError, match=f"{paths[1]}: record 2 at byte [0-9]+ is cut off: the file ends in the middle"):
        open_split(tmp_path, "train", classes=1, team=ALONE)
    paths[3].unlink()
    with pytest.raises(UserError, match="where 1 of 4 train shards are missing: train-00003-of-00004"):
        open_split(tmp_path, "train", classes=1, team=ALONE)
    records = open_split(tmp_path, "train", classes=1, team=ALONE, skip_damaged=True)
    assert (len(records), records.damaged) == (8, 1)
    assert records.damage[0] == "the shard train-00003-of-00004 is missing"
    assert records.damage[1].startswith(f"{paths[1]}: record 2 at byte ")
