"""Checkpoints that survive a stop at any moment.

A checkpoint is one file: the SHA-256 of what follows in hexadecimal, a newline, and NumPy's .npz format. The file
`latest` beside them holds the name of the newest one.
"""

import hashlib
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.runtime.errors import UserError
from training.runtime.files import write_atomically

_METADATA = "metadata"
_DIGEST_LENGTH = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """The state of a run after so many steps."""

    step: int
    """Steps finished since the run began."""
    arrays: Sequence[np.ndarray]
    """Weights and optimizer slots, in the order in which the program keeps them."""
    metadata: dict[str, Any]
    """Whatever else is needed to go on, as JSON knows it."""


class DamagedError(Exception):
    """A checkpoint file that is not what was written."""


def save(folder: Path, checkpoint: Checkpoint, keep: int = 3) -> Path:
    """Writes a checkpoint, reads it back, and only then removes those before it but for the newest `keep` - 1.

    Later ones stay: they are there only if they were damaged, and must not count as those to keep.

    Raises:
        OSError: It cannot be written; those before it are untouched.
        DamagedError: What is read back is not what was written; those before it are untouched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_unfinished(folder)
    path = folder / f"step-{checkpoint.step:08d}.checkpoint"
    write_atomically(path, _encode(checkpoint), check=read)
    # For people and programs; `newest` looks for itself, since this file may be the one that was not written any more.
    write_atomically(folder / "latest", f"{path.name}\n".encode())
    earlier = [other for other in _paths(folder) if _step(other) < checkpoint.step]
    for old in earlier[keep - 1 :]:
        old.unlink()
    return path


def newest(folder: Path) -> Checkpoint | None:
    """Returns the newest checkpoint that is whole, with a warning on stderr for each damaged one after it.

    Raises:
        UserError: There are some, but none is whole.
    """
    paths = _paths(folder)
    for path in paths:
        try:
            return read(path)
        except DamagedError as error:
            print(f"warning: {error}; trying the checkpoint before it", file=sys.stderr, flush=True)
    if paths:
        raise UserError(
            f"none of the {len(paths)} checkpoints in {folder} is whole; copy one back from where they were exported, "
            "or give another '--output-dir' to begin again"
        )
    return None


def read(path: Path) -> Checkpoint:
    """Reads one checkpoint and checks it against its checksum.

    Raises:
        DamagedError: It is not what was written, or cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path} cannot be read ({error.strerror})") from error
    digest, body = content[:_DIGEST_LENGTH], memoryview(content)[_DIGEST_LENGTH + 1 :]
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise DamagedError(f"{path} is damaged: its content does not match its checksum")
    return _decode(body)


def _paths(folder: Path) -> list[Path]:
    """Lists the checkpoints, newest first."""
    return sorted(folder.glob("step-*.checkpoint"), key=_step, reverse=True)


def _step(path: Path) -> int:
    return int(path.stem.removeprefix("step-"))


def _remove_unfinished(folder: Path) -> None:
    """Gives back the room of a checkpoint during whose writing the run was killed."""
    for path in folder.glob(".step-*.partial"):
        path.unlink(missing_ok=True)


def _encode(checkpoint: Checkpoint) -> bytes:
    stream = io.BytesIO()
    metadata = json.dumps({"step": checkpoint.step, **checkpoint.metadata})
    # Positional arrays become arr_0, arr_1, … and so keep their order.
    np.savez(stream, *checkpoint.arrays, **{_METADATA: np.array(metadata)})
    body = stream.getbuffer()
    return b"".join([hashlib.sha256(body).hexdigest().encode(), b"\n", body])


def _decode(body: memoryview) -> Checkpoint:
    with np.load(io.BytesIO(body), allow_pickle=False) as stored:
        metadata = json.loads(str(stored[_METADATA]))
        arrays = [stored[f"arr_{index}"] for index in range(len(stored.files) - 1)]
    return Checkpoint(step=metadata.pop("step"), arrays=arrays, metadata=metadata)
