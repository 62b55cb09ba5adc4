"""Files that exist completely or not at all."""

import errno
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from training.runtime.errors import UserError

#: How the line with the results of a program begins, for who has its log alone, such as `trainctl bench`.
RESULTS_LINE = "results: "

#: The figures of a training run in that line, beside its score: those in the report of `trainctl bench`. results.json
#: has everything.
REPORTED = ("images_per_second", "wall_images_per_second", "wall_seconds", "step_milliseconds", "global_batch_size")


def write_atomically(
    path: Path, content: bytes | Sequence[bytes | memoryview], check: Callable[[Path], object] | None = None
) -> bool:
    """Write a file so that a reader, or a machine that stops, finds the old content or the new one.

    Args:
        path: Path of the file.
        content: Content of the file; large parts need not be joined, which would copy them.
        check: Called with the written file before it gets its name; raises to reject it.

    Returns:
        Whether a machine that stops now keeps the new content; if not, a warning is printed.
    """

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)

    return make_atomically(path, path.with_name(f".{path.name}.partial"), write, check)


def make_atomically(
    path: Path, temporary: Path, make: Callable[[Path], object], check: Callable[[Path], object] | None = None
) -> bool:
    """Make a file under a temporary name, as `write_atomically` does.

    The temporary file is in the same folder, because a rename is atomic within one file system only.
    """
    try:
        make(temporary)
        sync(temporary)
        if check:
            check(temporary)
        temporary.replace(path)
    except Exception:
        # On a full disk the partial file would take the room of the next attempt.
        temporary.unlink(missing_ok=True)
        raise
    try:
        # The rename is durable once the folder is on the disk.
        sync(path.parent)
    except OSError as error:
        # Every reader finds the new content: an error would say that it was not written.
        reason = f"its folder could not be synchronized to the disk ({error.strerror or error})"
        print(
            f"warning: {path} is written, but {reason}; it is lost if the machine stops now",
            file=sys.stderr,
            flush=True,
        )
        return False
    return True


def sync(path: Path) -> None:
    """Return when the present content of a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file for people and programs, with null for a number that is not finite: JSON has no other word."""
    write_atomically(path, (json.dumps(_finite(content), indent=2, allow_nan=False) + "\n").encode())


def results_line(content: dict[str, Any]) -> str:
    """Return results as one line of a log."""
    return RESULTS_LINE + json.dumps(_finite(content), allow_nan=False)


def _finite(content: object) -> object:
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def make_writable(folder: Path, inside: str = "", *, option: str = "--output-dir") -> None:
    """Create the output folder, or one inside it, and write there: an error shows before the training and not after."""
    probe = folder / inside / ".writable"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        # Another start may have removed it.
        probe.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error, inside, option=option) from error


def unwritable(folder: Path, error: OSError, inside: str = "", *, option: str = "--output-dir") -> UserError:
    """Return the error of an output folder, or of one inside it, with the reason of the operating system."""
    where = f"in whose {inside}/ user {os.getuid()}" if inside else f"where user {os.getuid()}"
    fixes = {errno.ENOSPC: "make room there"} | dict.fromkeys(
        (errno.ENOTDIR, errno.EEXIST), "a part of the path is a file: give another"
    )
    fix = fixes.get(error.errno or 0, "give a folder that this user may write to")
    return UserError(f"'{option}' is {folder}, {where} cannot write ({error.strerror or error}); {fix}")
