"""The checkpoints that a Trainer writes: folders that are verified before a run resumes from them.

A Trainer writes files into `checkpoint-<step>`. The file `exact-resume.json`, which is written last, has their
checksums: a folder without it was being written when the run was killed.
"""

import hashlib
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ..runtime import files

_MANIFEST = "exact-resume.json"
_NAME = re.compile(r"checkpoint-([0-9]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifiedFolder:
    """A checkpoint whose files are as they were written."""

    path: Path
    """The folder."""
    ranks: int
    """The number of ranks that wrote it."""


def complete(folder: Path, ranks: int) -> None:
    """Write the checksums of a checkpoint that all ranks have written."""
    for path in sorted(folder.rglob("*")):
        files.sync(path)
    content = {"ranks": ranks, "sha256": _checksums(folder)}
    files.write_json(folder / _MANIFEST, content)
    files.sync(folder.parent)


def newest(output: Path) -> VerifiedFolder | None:
    """Return the newest checkpoint whose files are undamaged, with a warning for each damaged one after it."""
    for path in _newest_first(output):
        try:
            written = json.loads((path / _MANIFEST).read_text())
            if written["sha256"] == _checksums(path):
                return VerifiedFolder(path=path, ranks=int(written["ranks"]))
            problem = "its files are not as they were written"
        except (OSError, ValueError, LookupError, TypeError) as error:
            problem = f"it was not completed ({error})"
        print(f"warning: {path} is not used, because {problem}; trying the one before it", file=sys.stderr, flush=True)
    return None


def remove_earlier(folder: Path, keep: int) -> None:
    """Remove the checkpoints before this one, except for the newest `keep` - 1."""
    paths = _newest_first(folder.parent)
    for path in paths[paths.index(folder) :][keep:]:
        shutil.rmtree(path, ignore_errors=True)


def _newest_first(output: Path) -> list[Path]:
    found = [path for path in output.glob("checkpoint-*") if _NAME.fullmatch(path.name) and path.is_dir()]
    return sorted(found, key=lambda each: int(each.name.rpartition("-")[2]), reverse=True)


def _checksums(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / _MANIFEST:
            with path.open("rb") as stream:
                found[str(path.relative_to(folder))] = hashlib.file_digest(stream, "sha256").hexdigest()
    return found
