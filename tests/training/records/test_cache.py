from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.training.imagenet_data import example, write_shards
from training.records.cache import CachedRecords, check, free_memory, needed
from training.records.rank_records import open_split
from training.runtime.errors import UserError


def test_reads_its_range_once_and_the_rest_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_shards(tmp_path, [example(number) for number in range(6)], 2)
    records = open_split(tmp_path, "train", classes=1)
    expected = records.read([0, 3, 5, 3])
    asked: list[int] = []
    read = records.read

    def recorded(numbers: Sequence[int]) -> list[bytes]:
        asked.extend(numbers)
        return read(numbers)

    monkeypatch.setattr(records, "read", recorded)
    cache = CachedRecords(records, range(4))
    assert cache.read([0, 3, 5, 3]) == cache.read([0, 3, 5, 3]) == expected
    assert sorted(asked) == [0, 3, 3, 5, 5]
    assert (cache.where(3), len(cache)) == (records.where(3), 6)


def test_records_need_their_bytes(tmp_path: Path) -> None:
    contents = [example(number) for number in range(6)]
    write_shards(tmp_path, contents, 2)
    # Each with 16 bytes of framing.
    expected = sum(len(content) + 16 for content in contents[:4])
    assert needed(open_split(tmp_path, "train", classes=1), range(4)) == expected


def test_states_the_memory_of_a_cache_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.records.cache.free_memory", lambda: 400 * 2**30)
    assert check("decoded", 21 * 2**30, ranks=8).sentence("decoded") == (
        "memory: '--cache decoded' needs 21.0 GiB a rank, 168.0 GiB for the 8 ranks of a machine, where 400.0 GiB are "
        "free"
    )


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("records", "give '--cache off' (the page cache keeps the records that fit)"),
        ("decoded", "give '--cache records', which needs about half, or '--cache off'"),
    ],
)
def test_rejects_a_cache_that_does_not_fit(monkeypatch: pytest.MonkeyPatch, kind: str, advice: str) -> None:
    monkeypatch.setattr("training.records.cache.free_memory", lambda: 6 * 2**30 - 1)
    with pytest.raises(UserError) as caught:
        check(kind, 3 * 2**30, ranks=2)
    assert str(caught.value) == (
        f"'--cache {kind}' needs 3.0 GiB a rank, 6.0 GiB for the 2 ranks of this machine, but 6.0 GiB are free; "
        f"{advice}, or use more machines or larger ones"
    )
    monkeypatch.setattr("training.records.cache.free_memory", lambda: 6 * 2**30)
    assert check(kind, 3 * 2**30, ranks=2).needed == 3 * 2**30


@pytest.mark.parametrize(("limit", "free"), [("max", 4000), ("5000", 1500), ("1000", 0)])
def test_free_memory_is_the_machine_s_or_the_cgroup_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, free: int
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 4000}))
    group = tmp_path / "cgroup/pod/container"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group.parent / "memory.max").write_text(f"{limit}\n")
    (group.parent / "memory.current").write_text("4500\n")
    # 1,000 of the 4,500 bytes are page cache.
    (group.parent / "memory.stat").write_text("anon 3500\ninactive_file 600\nactive_file 400\n")
    membership = tmp_path / "membership"
    membership.write_text("0::/pod/container\n")
    assert free_memory(tmp_path / "cgroup", membership) == free
