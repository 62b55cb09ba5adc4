"""What was staged and verified already, kept on the shared file system so that a new start goes on."""

import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from training.staging.source import RECORDS, Item, Share


@dataclass(frozen=True, slots=True)
class Record:
    """A file that was verified, and how it looked then."""

    path: str
    etag: str
    size: int
    modified: int
    """Nanoseconds: a file that was written to since is staged again."""
    verified_by: str


class Records:
    """All pods' records, read once; and this pod's own file, to which it adds.

    One JSON object a line, only ever added to: a pod that is killed leaves a torn last line at worst, and that is no
    record.
    """

    def __init__(self, target: Path, share: Share) -> None:
        """Opens the records in the target, whose folder for them is there."""
        folder = target / RECORDS
        self._known: dict[str, Record] = {}
        # Of all pods, and of earlier runs with another number of them.
        for path in sorted(folder.glob("*.jsonl")):
            self._read(path)
        self._lock = threading.Lock()
        self._stream = (folder / f"{share.index}-of-{share.count}.jsonl").open("ab")
        # Ends a torn line, so that the next record stands on its own.
        if self._stream.tell():
            self._stream.write(b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _read(self, path: Path) -> None:
        for line in path.read_bytes().splitlines():
            try:
                record = Record(**json.loads(line))
            except (ValueError, TypeError):
                continue
            self._known[record.path] = record

    def find(self, item: Item, found: os.stat_result) -> Record | None:
        """Returns the record of an item whose object and file are still those that were verified."""
        record = self._known.get(item.path)
        now = (item.etag, item.size, item.size, found.st_mtime_ns)
        if record and now == (record.etag, record.size, found.st_size, record.modified):
            return record
        return None

    def add(self, item: Item, found: os.stat_result, verified_by: str) -> None:
        """Notes that an item is here and right."""
        record = Record(item.path, item.etag, item.size, found.st_mtime_ns, verified_by)
        with self._lock:
            self._stream.write(json.dumps(asdict(record)).encode() + b"\n")
            self._stream.flush()
