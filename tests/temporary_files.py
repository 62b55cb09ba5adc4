"""The folder for the temporary files of a run of tests: inside the clone, and removed even if the run is killed."""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: Folder of all runs. Nothing above it may reach what is in it: see `tests/conftest.py`.
FOLDERS = Path(__file__).parents[1] / ".tmp"


def begin(folders: Path = FOLDERS) -> Path:
    """Remove the folders that killed runs have left, and return a new one, this run's until its process ends."""
    folders.mkdir(exist_ok=True)
    # One run at a time: a folder is without its lock for a moment.
    turn = _lock(folders, fcntl.LOCK_EX)
    for left in folders.iterdir():
        try:
            free = _lock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        end(left)
        os.close(free)
    folder = Path(tempfile.mkdtemp(prefix="", dir=folders))
    # Some tests continue as another user than root.
    folder.chmod(0o755)
    # Not closed: the end of the process frees it, however it ends.
    _lock(folder, fcntl.LOCK_EX)
    os.close(turn)
    return folder


def end(folder: Path) -> None:
    """Remove a folder, except files that a killed test has locked away from this user."""
    shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path, how: int) -> int:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError:
        os.close(descriptor)
        raise
    return descriptor
