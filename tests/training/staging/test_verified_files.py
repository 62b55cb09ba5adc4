import os
from pathlib import Path

import pytest

from training.runtime.errors import UserError
from training.staging.s3_source import Item, Share
from training.staging.verified_files import VerifiedFiles

ITEM = Item("set/a", "a", 3, '"tag"')


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / ".staged").mkdir()
    (tmp_path / "a").write_bytes(b"abc")
    return tmp_path


def add(target: Path, share: Share = Share(0, 1)) -> None:  # noqa: B008
    with VerifiedFiles(target / ".staged", share) as verified:
        verified.add(ITEM, (target / "a").stat(), "MD5")


def is_known(target: Path, item: Item = ITEM) -> bool:
    with VerifiedFiles(target / ".staged", Share(0, 1)) as verified:
        return verified.find(item, (target / "a").stat()) is not None


def test_every_pod_finds_an_added_file(target: Path) -> None:
    assert not is_known(target)
    add(target, Share(2, 3))
    assert is_known(target)
    assert [path.name for path in sorted((target / ".staged").iterdir())] == ["0-of-1.jsonl", "2-of-3.jsonl"]


@pytest.mark.parametrize("item", [Item("set/a", "a", 3, '"new"'), Item("set/a", "a", 4, '"tag"')])
def test_does_not_find_a_changed_object(target: Path, item: Item) -> None:
    add(target)
    assert not is_known(target, item)


@pytest.mark.parametrize("content", [b"abd", b"abcd"])
def test_does_not_find_a_changed_file(target: Path, content: bytes) -> None:
    add(target)
    (target / "a").write_bytes(content)
    assert not is_known(target)


@pytest.mark.parametrize("damaged", ['{"path": "b", "etag"', "[1]", "null", "{}", "\x00\x00"])
def test_ignores_a_damaged_line(target: Path, damaged: str) -> None:
    (target / ".staged" / "0-of-1.jsonl").write_text(damaged)
    add(target)
    assert is_known(target)


def test_a_prepared_link_is_no_log(target: Path) -> None:
    mine = target / "mine"
    mine.write_text("untouched")
    (target / ".staged" / "0-of-1.jsonl").symlink_to(mine)
    with pytest.raises(UserError) as error:
        add(target)
    assert str(error.value) == (
        f"'--progress-folder' is {target / '.staged'}, where user {os.getuid()} cannot write (0-of-1.jsonl is a link); "
        "remove it"
    )
    assert mine.read_text() == "untouched"
