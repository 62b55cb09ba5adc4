"""The output folder of a conversion: one run at a time, and a resumed run must have the same settings."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...runtime.errors import UserError
from ...runtime.files import write_atomically, write_json

NAME = "conversion.json"


@contextmanager
def locked(folder: Path, settings: Mapping[str, Any]) -> Iterator[None]:
    """Lock an output folder for one run, and for runs with these settings.

    Args:
        folder: An existing folder.
        settings: The values that the shards depend on, by the names of the options.

    Raises:
        UserError: Another run writes there, a run with other settings wrote there, or another program's shards exist.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(descriptor, folder)
        _check(folder, settings)
        # Left by a killed run: no other run has the lock.
        _remove_unfinished(folder)
        try:
            yield
        finally:
            _remove_unfinished(folder)
    finally:
        os.close(descriptor)


def write_synsets(folder: Path, synsets: Sequence[str]) -> None:
    """Write the names of the classes: line 1 is label 1."""
    write_atomically(folder / "synsets.txt", "".join(f"{synset}\n" for synset in synsets).encode())


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UserError(
            f"'--output-dir' is {folder}, where another run is writing; wait for it, or give another folder"
        ) from error
    except OSError:
        # Some file systems have no locks (Lustre without `flock`); two runs there write the same bytes.
        return


def _check(folder: Path, settings: Mapping[str, Any]) -> None:
    path = folder / NAME
    if not path.exists():
        _check_no_shards(folder)
        write_json(path, dict(settings))
        return
    try:
        earlier: dict[str, Any] = dict(json.loads(path.read_bytes()))
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is damaged ({error}); empty the folder, or give another '--output-dir'") from error
    changed = [
        f"{_quoted(name)} was {_shown(earlier.get(name))} and is {_shown(settings.get(name))} now"
        for name in sorted({*earlier, *settings})
        if earlier.get(name) != settings.get(name)
    ]
    if changed:
        raise UserError(
            f"'--output-dir' is {folder}, which has shards of other settings: {'; '.join(changed)}; "
            "give the same settings, or another folder"
        )


def _remove_unfinished(folder: Path) -> None:
    for path in [*folder.glob(".train-*.partial"), *folder.glob(".validation-*.partial")]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _quoted(name: str) -> str:
    return f"'{name}'" if name.startswith("--") else name


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def _check_no_shards(folder: Path) -> None:
    shard = next((path for split in ("train", "validation") for path in folder.glob(f"{split}-*-of-*")), None)
    if shard:
        raise UserError(
            f"'--output-dir' is {folder}, which contains {shard.name} but no {NAME}: "
            "this program did not write the shards; give an empty folder"
        )
