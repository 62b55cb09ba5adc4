import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from training.imagenet import imagenet_example
from training.records import fingerprint, rank_records, shard_files, shard_records
from training.runtime import ranks
from training.runtime.errors import UserError


def write_shards(folder: Path, sizes: list[list[int]]) -> None:
    """Write training shards with records of these sizes."""
    folder.mkdir()
    for index, contents in enumerate(sizes):
        examples = [
            imagenet_example.encode(jpeg=bytes(size), label=1, synset="n0", filename="a", height=1, width=1)
            for size in contents
        ]
        path = folder / shard_files.shard_name("train", index, len(sizes))
        shard_files.write_shard(path, examples, 1, imagenet_example.labels)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    write_shards(folder, [[30, 40], [40, 30], [50, 20]])
    return folder


@pytest.fixture
def jpegs(tmp_path: Path) -> Path:
    for name in ("cats/1", "cats/2", "dogs/1"):
        path = tmp_path / "data" / "train" / f"{name}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return tmp_path / "data"


def of(folder: Path) -> Mapping[str, str]:
    return rank_records.open_split(folder, "train", classes=2, skip_damaged=True).fingerprint


def exchange(folder: Path) -> None:
    """Give the first two shards, of the same size, each other's name, with their indexes."""
    for suffix in ("", ".idx"):
        first, second = (folder / f"train-0000{index}-of-00003{suffix}" for index in (0, 1))
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)


def test_a_shard_has_an_entry_of_its_records_bytes_and_index(shards: Path) -> None:
    entries = of(shards)
    assert list(entries) == [f"train-0000{index}-of-00003" for index in range(3)]
    assert entries["train-00000-of-00003"].startswith("2 records, ")
    assert f", {(shards / 'train-00000-of-00003').stat().st_size} bytes, " in entries["train-00000-of-00003"]


def test_it_is_the_same_without_indexes_and_in_another_folder(shards: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(shards, tmp_path / "copy")
    for index in copy.glob("*.idx"):
        index.unlink()
    assert of(copy) == of(shards)


def test_ranks_that_share_the_work_have_the_same(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank loads its part of the shards; the placeholder of the exchange has the rest."""
    alone, others = of(shards), shard_records.load(shards, "train", skip_damaged=False).shards

    class OneOfTwo(ranks.Ranks):
        def gather(self, value: object, name: str) -> list[object]:
            return [(others[rank::2], None) for rank in (0, 1)]

    monkeypatch.setattr(ranks, "_current", OneOfTwo(0, 2))
    assert of(shards) == alone


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (exchange, ["train-00000-of-00003 is another (", "train-00001-of-00003 is another ("]),
        (lambda folder: (folder / "train-00001-of-00003").unlink(), ["train-00001-of-00003 is missing"]),
    ],
    ids=["exchanged", "missing"],
)
def test_rejects_changed_shards_by_name(shards: Path, change: Callable[[Path], object], names: list[str]) -> None:
    before = of(shards)
    change(shards)
    with pytest.raises(UserError) as caught:
        fingerprint.check(Path("/runs/a"), before, of(shards))
    message = str(caught.value)
    assert message.startswith("the dataset is not that of the run in /runs/a: " + names[0])
    assert all(name in message for name in names)
    assert message.count("train-") == len(names)
    assert message.endswith("; put back its files, or give another '--output-dir' to start a new run")


def test_rejects_a_new_shard_by_name(shards: Path) -> None:
    now = of(shards)
    before = {name: entry for name, entry in now.items() if name != "train-00002-of-00003"}
    with pytest.raises(UserError, match="in /runs/a: train-00002-of-00003 is new; put back"):
        fingerprint.check(Path("/runs/a"), before, now)


def test_shows_five_of_many_changes() -> None:
    with pytest.raises(UserError, match=r"in out: 0 is missing, .*4 is missing, and 2 more; put back"):
        fingerprint.check(Path("out"), {str(number): "1" for number in range(7)}, {})


def test_accepts_the_same(shards: Path) -> None:
    fingerprint.check(Path("out"), of(shards), of(shards))


def test_a_class_folder_has_an_entry_of_its_names(jpegs: Path) -> None:
    before = of(jpegs)
    assert list(before) == ["train/cats", "train/dogs"]
    assert before["train/cats"].startswith("2 files, ")
    (jpegs / "train/cats/2.JPEG").rename(jpegs / "train/cats/3.JPEG")
    with pytest.raises(UserError, match="in out: train/cats is another "):
        fingerprint.check(Path("out"), before, of(jpegs))
