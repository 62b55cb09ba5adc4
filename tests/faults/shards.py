"""Shards that have a damaged record, are cut off, or are missing."""

from collections.abc import Callable
from pathlib import Path

from tests.faults.life import Fault, Life, expect

Damage = Callable[[Path], str]
"""Damages a shard and returns the name by which the program must report the place."""

_HEADER, _FOOTER = 12, 4


def _flip_bit(path: Path, record: int, offset_in_record: int) -> str:
    offset, _ = _record(path, record)
    content = bytearray(path.read_bytes())
    content[offset + offset_in_record] ^= 0x10
    path.write_bytes(content)
    return f"{path}: record {record} at byte {offset}"


def _record(path: Path, record: int) -> tuple[int, int]:
    """Return the offset and size of a record, in bytes."""
    line = path.with_name(f"{path.name}.idx").read_text().splitlines()[record]
    offset, size = map(int, line.split())
    return offset, size


def _content(path: Path) -> str:
    return _flip_bit(path, 5, _HEADER + 300)


def _length(path: Path) -> str:
    return _flip_bit(path, 9, 0)


def _cut_off(path: Path) -> str:
    offset, size = _record(path, 200)
    path.write_bytes(path.read_bytes()[: offset + size // 2])
    return f"{path}: record 200 at byte {offset} is cut off"


def _missing(path: Path) -> str:
    path.unlink()
    return path.name


DAMAGES: dict[str, Damage] = {
    "a record's content": _content,
    "a record's length": _length,
    "cut off": _cut_off,
    "missing": _missing,
}


def stop(how: str, shard: str) -> Fault:
    """Damage a shard, which must end the run with the place in its message, and then restore it."""

    def inject(life: Life) -> None:
        path = life.data / shard
        whole = path.read_bytes()
        place = DAMAGES[how](path)
        with life.run() as run:
            code = run.end()
            expect(code == 2, f"it ended with code {code}, not 2")
            expect(place in run.stderr, f"it did not name {place}")
        path.write_bytes(whole)

    return Fault(kind="damaged shard, stop", what=f"{shard}: {how}", inject=inject)


def skip(how: str, shard: str) -> Fault:
    """Damage a shard for the rest of the life."""

    def inject(life: Life) -> None:
        life.named.append(DAMAGES[how](life.data / shard))

    return Fault(kind="damaged shard, skip", what=f"{shard}: {how}", inject=inject)
