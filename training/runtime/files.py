"""Files that are there whole or not at all."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.runtime.errors import UserError


def write_atomically(path: Path, content: bytes, check: Callable[[Path], object] | None = None) -> None:
    """Writes a file so that a reader, or a machine that stops, finds the old content or the new one.

    The temporary name lies in the same folder, since a rename is atomic within one file system only.

    Args:
        path: Of the file.
        content: Of it.
        check: Is given the written file before it gets its name, and raises if it is not good.
    """
    temporary = path.with_name(f".{path.name}.partial")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if check:
            check(temporary)
        temporary.replace(path)
    except Exception:
        # On a full disk its part of the content would be in the way of the next try.
        temporary.unlink(missing_ok=True)
        raise
    # The rename itself is safe once the folder is on the disk.
    sync(path.parent)


def sync(path: Path) -> None:
    """Returns when the file or the folder is on the disk as it is now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes a JSON file for people and programs."""
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def make_writable(folder: Path) -> None:
    """Makes the output folder and tries to write in it, so that a mistake shows before the training and not after."""
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise unwritable(folder, error) from error


def unwritable(folder: Path, error: OSError) -> UserError:
    """Says of the output folder what the operating system said."""
    remedy = "make room there" if error.errno == errno.ENOSPC else "give a folder that this user may write to"
    return UserError(f"'--output-dir' is {folder}, where user {os.getuid()} cannot write ({error.strerror}); {remedy}")
