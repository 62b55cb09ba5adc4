"""The files that are verified, kept on the shared file system so that a restarted job resumes."""

import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from training.runtime import files
from training.staging.s3_source import Item, Share


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """A verified file, and its state at that time."""

    path: str
    etag: str
    size: int
    modified: int
    """Nanoseconds: a file that was written to since then is staged again."""
    verified_by: str


class VerifiedFiles:
    """The verified files of all pods, read once, and the log to which this pod appends.

    The log has one JSON object a line. A killed pod can only damage its last line, which readers ignore.
    """

    def __init__(self, folder: Path, share: Share) -> None:
        """Open the logs in a folder that exists.

        Raises:
            UserError: The log of this pod cannot be written.
        """
        self._known: dict[str, VerifiedFile] = {}
        # The files of all pods, and of earlier runs with another number of pods.
        for path in sorted(folder.glob("*.jsonl")):
            self._read(path)
        self._lock = threading.Lock()
        try:
            self._stream = files.append(folder / f"{share.index}-of-{share.count}.jsonl")
        except OSError as error:
            raise files.unwritable(folder, error, option="--progress-folder") from error
        # Ends a damaged line, so that the next one is separate.
        if self._stream.tell():
            self._stream.write(b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _read(self, path: Path) -> None:
        for line in path.read_bytes().splitlines():
            try:
                verified = VerifiedFile(**json.loads(line))
            except (ValueError, TypeError):
                continue
            self._known[verified.path] = verified

    def find(self, item: Item, found: os.stat_result) -> VerifiedFile | None:
        """Return the entry of an item if its object and its file have not changed since then."""
        verified = self._known.get(item.path)
        now = (item.etag, item.size, item.size, found.st_mtime_ns)
        if verified and now == (verified.etag, verified.size, found.st_size, verified.modified):
            return verified
        return None

    def add(self, item: Item, found: os.stat_result, verified_by: str) -> None:
        """Append a verified item to the log."""
        verified = VerifiedFile(item.path, item.etag, item.size, found.st_mtime_ns, verified_by)
        with self._lock:
            self._stream.write(json.dumps(asdict(verified)).encode() + b"\n")
            self._stream.flush()
