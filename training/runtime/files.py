"""Files that exist completely or not at all."""

import errno
import json
import math
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from .errors import UserError

_PARTIAL = ".partial"

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
    temporary = path.with_name(f".{path.name}{_PARTIAL}")
    try:
        with create(temporary) as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
        return _rename(temporary, path, check)
    except Exception:
        # On a full disk the partial file would take the room of the next attempt.
        temporary.unlink(missing_ok=True)
        raise


def make_atomically(path: Path, make: Callable[[Path], object]) -> bool:
    """Write a file as `write_atomically` does, by a function that takes the path of a file to write."""
    with private_folder(path) as folder:
        make(folder / path.name)
        return _rename(folder / path.name, path)


def create(path: Path) -> BinaryIO:
    """Open a new file in a folder that others may write to, in place of what has its name.

    A link with that name would have this user overwrite what it points to: it is removed, and none is followed.
    """
    path.unlink(missing_ok=True)
    return path.open("xb")


def append(path: Path) -> BinaryIO:
    """Open a file to append to it, in a folder that others may write to; it is created where it is missing.

    Raises:
        OSError: It cannot be written, or it is a link, soft or hard, which can lead to any file, or a pipe, or behind
            a link of another user.
    """
    if link := foreign_link(path.parent):
        raise OSError(errno.ELOOP, f"{link} is a link of user {link.lstat().st_uid}")
    return os.fdopen(open_for_writing(path, os.O_WRONLY | os.O_APPEND), "ab")


def open_for_writing(path: Path, flags: int) -> int:
    """Return the descriptor of a file in a folder that others may write to; it is created where it is missing.

    Raises:
        OSError: It cannot be opened, or it is a link, soft or hard, which can lead to any file, or a pipe.
    """
    try:
        # Without O_NONBLOCK a pipe would wait for its reader.
        descriptor = os.open(path, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"{path.name} is a link") from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.ELOOP, f"{path.name} has other names, or is not a regular file")
    return descriptor


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """Create a folder beside a file for a function that opens paths: no other user can prepare a link in it.

    It is in the same file system, because a rename is atomic within one only.
    """
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", suffix=_PARTIAL, dir=path.parent) as folder:
        yield Path(folder)


def _rename(temporary: Path, path: Path, check: Callable[[Path], object] | None = None) -> bool:
    sync(temporary)
    if check:
        check(temporary)
    temporary.replace(path)
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
    place = folder / inside
    if link := foreign_link(place):
        raise UserError(
            f"'{option}' is {folder}, but {link} is a link of user {link.lstat().st_uid}; give the folder to which it "
            "points, if you trust that user"
        )
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise unwritable(folder, error, inside, option=option) from error


def foreign_link(folder: Path) -> Path | None:
    """Return the part of a path that is a link of another user, who can lead it anywhere; None for none."""
    return next(filter(_is_foreign_link, (folder.absolute(), *folder.absolute().parents)), None)


def _is_foreign_link(path: Path) -> bool:
    # As fs.protected_symlinks does where the folder around it is sticky; a link of root is part of the system.
    return path.is_symlink() and path.lstat().st_uid not in (0, os.getuid())


def unwritable(folder: Path, error: OSError, inside: str = "", *, option: str = "--output-dir") -> UserError:
    """Return the error of an output folder, or of one inside it, with the reason of the operating system."""
    where = f"in whose {inside}/ user {os.getuid()}" if inside else f"where user {os.getuid()}"
    fixes = {errno.ENOSPC: "make room there", errno.ELOOP: "remove it"} | dict.fromkeys(
        (errno.ENOTDIR, errno.EEXIST), "a part of the path is a file: give another"
    )
    fix = fixes.get(error.errno or 0, "give a folder that this user may write to")
    return UserError(f"'{option}' is {folder}, {where} cannot write ({error.strerror or error}); {fix}")
