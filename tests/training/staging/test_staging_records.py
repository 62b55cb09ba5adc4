from pathlib import Path

import pytest

from training.staging.records import Records
from training.staging.source import Item, Share

ITEM = Item("set/a", "a", 3, '"tag"')


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / ".staged").mkdir()
    (tmp_path / "a").write_bytes(b"abc")
    return tmp_path


def add(target: Path, share: Share = Share(0, 1)) -> None:  # noqa: B008
    with Records(target, share) as records:
        records.add(ITEM, (target / "a").stat(), "MD5")


def is_known(target: Path, item: Item = ITEM) -> bool:
    with Records(target, Share(0, 1)) as records:
        return records.find(item, (target / "a").stat()) is not None


def test_what_was_added_is_found_by_every_pod(target: Path) -> None:
    assert not is_known(target)
    add(target, Share(2, 3))
    assert is_known(target)
    assert [path.name for path in sorted((target / ".staged").iterdir())] == ["0-of-1.jsonl", "2-of-3.jsonl"]


@pytest.mark.parametrize("item", [Item("set/a", "a", 3, '"new"'), Item("set/a", "a", 4, '"tag"')])
def test_a_changed_object_is_not_the_one_that_was_verified(target: Path, item: Item) -> None:
    add(target)
    assert not is_known(target, item)


@pytest.mark.parametrize("content", [b"abd", b"abcd"])
def test_a_file_that_was_written_to_is_not_the_one_that_was_verified(target: Path, content: bytes) -> None:
    add(target)
    (target / "a").write_bytes(content)
    assert not is_known(target)


@pytest.mark.parametrize("torn", ['{"path": "b", "etag"', "[1]", "null", "{}", "\x00\x00"])
def test_a_torn_line_spoils_no_other(target: Path, torn: str) -> None:
    (target / ".staged" / "0-of-1.jsonl").write_text(torn)
    add(target)
    assert is_known(target)
