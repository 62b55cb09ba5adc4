"""Checkpoints that survive a stop at any moment.

A checkpoint is one file: the SHA-256 of the rest in hexadecimal, a newline, and NumPy's .npz format. The file
`latest` beside them holds the name of the newest one.
"""

import hashlib
import io
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import LOST_FILE_SYSTEM, LostFileSystemError, UserError
from .files import write_atomically

_METADATA = "metadata"
_DIGEST_LENGTH = 64
_NAME = re.compile(r"step-[0-9]{8,18}\.checkpoint")

#: The file that holds the name of the newest checkpoint.
POINTER = "latest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """The state of a run after a step."""

    step: int
    """Steps finished since the run began."""
    arrays: Sequence[NDArray[Any]]
    """Weights and optimizer slots, in the order in which the program keeps them."""
    metadata: dict[str, Any]
    """Other state that a run needs to resume, in JSON's types."""


class DamagedError(Exception):
    """A checkpoint file with another content than was written."""


def save(folder: Path, checkpoint: Checkpoint, keep: int = 3) -> Path:
    """Write a checkpoint, read it back, and only then remove earlier ones except for the newest `keep` - 1.

    Later checkpoints stay: they exist only if they were damaged, and must not count as those to keep.

    Raises:
        OSError: It cannot be written; the earlier checkpoints are untouched.
        DamagedError: It cannot be read back; the earlier checkpoints are untouched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(folder)
    path = folder / f"step-{checkpoint.step:08d}.checkpoint"
    is_durable = write_atomically(path, _encode(checkpoint), check=_check)
    # From here on the state is written; a later error must not say otherwise.
    try:
        # For people and programs; `newest` does not read it, because this file may be the one that was not written.
        write_atomically(folder / POINTER, f"{path.name}\n".encode())
        if not is_durable:
            return path
        earlier = [other for other in paths(folder) if step_of(other) < checkpoint.step]
        for old in earlier[keep - 1 :]:
            old.unlink()
    except OSError as error:
        where = error.filename2 or error.filename or folder / POINTER
        _warn(f"{path} is written, but {where} could not be changed ({error.strerror or error})")
    return path


def newest(folder: Path) -> Checkpoint | None:
    """Return the newest undamaged checkpoint, with a warning on stderr for each damaged one after it.

    A run may write and remove checkpoints meanwhile.

    Raises:
        UserError: All checkpoints are damaged.
        LostFileSystemError: None can be read, because their file system was lost.
    """
    present, lost = paths(folder), 0
    for stranger in sorted(set(folder.glob("step-*.checkpoint")) - set(present)):
        _warn(f"{stranger} is not a checkpoint of this program and is ignored; move it elsewhere")
    for path in present:
        try:
            return read(path)
        except DamagedError as error:
            if not os.path.lexists(path):
                # A run that trains there has removed it, after it wrote newer ones.
                return newest(folder)
            lost += isinstance(error.__cause__, OSError) and error.__cause__.errno in LOST_FILE_SYSTEM
            _warn(f"{error}; trying the checkpoint before it")
    if present and lost == len(present):
        raise LostFileSystemError(f"none of the checkpoints in {folder} can be read; start this run again")
    if present:
        raise UserError(
            f"all {len(present)} checkpoints in {folder} are damaged; copy one back from where they were exported, or "
            "give another output folder to start a new run"
        )
    return None


def read(path: Path) -> Checkpoint:
    """Return a checkpoint whose checksum is right.

    Raises:
        DamagedError: It has another content than was written, or cannot be read.
    """
    try:
        # A pipe that another user made would wait for its writer.
        if path.exists() and not path.is_file():
            raise DamagedError(f"{path} is not a regular file")
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path} cannot be read ({error.strerror or error})") from error
    digest, body = content[:_DIGEST_LENGTH], memoryview(content)[_DIGEST_LENGTH + 1 :]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise DamagedError(f"{path} is damaged: its content does not match its checksum")
    try:
        return _decode(body)
    # Also zipfile's: an archive that needs a password is a RuntimeError, another compression a NotImplementedError.
    except (ValueError, LookupError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DamagedError(f"{path} has the right checksum, but not the content of a checkpoint ({error})") from error


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)


def _check(path: Path) -> None:
    """Reject a file that differs when it is read back, a part at a time: its content is in memory already."""
    with path.open("rb") as stream:
        digest = stream.read(_DIGEST_LENGTH)
        stream.seek(_DIGEST_LENGTH + 1)
        if hashlib.file_digest(stream, "sha256").hexdigest().encode() != digest:
            raise DamagedError(f"{path} differs when it is read back")


def paths(folder: Path) -> list[Path]:
    """Return the files of checkpoints, newest first, without names of another kind and without folders."""
    found = (path for path in folder.glob("step-*.checkpoint") if _NAME.fullmatch(path.name) and not path.is_dir())
    return sorted(found, key=step_of, reverse=True)


def step_of(path: Path) -> int:
    """Return the step of a checkpoint by its name."""
    return int(path.stem.removeprefix("step-"))


def _remove_unfinished(folder: Path) -> None:
    """Remove a checkpoint during whose writing the run was killed."""
    for path in folder.glob(".step-*.partial"):
        # A folder of that name was made by someone else, and is no reason to write no checkpoint.
        with suppress(OSError):
            path.unlink()


def _encode(checkpoint: Checkpoint) -> list[bytes | memoryview]:
    stream = io.BytesIO()
    metadata = json.dumps({"step": checkpoint.step, **checkpoint.metadata})
    # Positional arrays become arr_0, arr_1, … and so keep their order.
    np.savez(stream, *checkpoint.arrays, **{_METADATA: np.array(metadata)})
    body = stream.getbuffer()
    return [hashlib.sha256(body).hexdigest().encode(), b"\n", body]


def _decode(body: memoryview) -> Checkpoint:
    with np.load(io.BytesIO(body), allow_pickle=False) as stored:
        # Only another program compresses: a file of a megabyte can then hold a gigabyte.
        if any(each.compress_type != zipfile.ZIP_STORED for each in stored.zip.infolist()):
            raise ValueError("it is compressed")
        metadata = dict(json.loads(str(stored[_METADATA])))
        arrays = [stored[f"arr_{index}"] for index in range(len(stored.files) - 1)]
    return Checkpoint(step=int(metadata.pop("step")), arrays=arrays, metadata=metadata)
