"""Whether a run that did not end by itself has left a file to resume from: without one the next run begins again."""

import os
from pathlib import Path

from training_workloads.mpijob.programs import USER_ERROR
from training_workloads.run_local.supervisor import Ending

__all__ = ["unsaved_training"]

# A shorter run has hardly imported its packages.
_LEAST_SECONDS = 60.0

# More would take long to search; a folder with so many is not searched to its end, and nothing is known.
_MOST_FILES = 20_000

# Written by programs that save no state.
_NO_STATE = ("tfevents", ".log", ".pyc")

_HELP = "docs/exact-resume.md shows how a script resumes"


def unsaved_training(name: str, ending: Ending, folder: Path, *, began: float, seconds: float) -> str | None:
    """Return the line on a run whose training is lost; None where it may have saved it.

    Args:
        name: The script or the job.
        ending: How it ended.
        folder: Where it writes: the current one of a script, the volumes of a job.
        began: When it began, on the clock of files.
        seconds: How long it ran.
    """
    is_lost = ending.stopped or (ending.failed and ending.code != USER_ERROR)
    if not is_lost or seconds < _LEAST_SECONDS or _has_written(folder, began):
        return None
    lasted = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    return (
        f"{name} has written no file below {folder}: unless it saves its state elsewhere, the same command begins "
        f"again and repeats {lasted}; {_HELP}"
    )


def _has_written(folder: Path, began: float) -> bool:
    """Return whether a file has changed since then that may have a state, or too many exist to know."""
    count = 0
    for place, folders, files in os.walk(folder):
        # Environments and Git's folder have many, and no checkpoints.
        folders[:] = [each for each in folders if not each.startswith(".") and each != "__pycache__"]
        count += len(files)
        if count > _MOST_FILES or any(_is_newer(os.path.join(place, file), began) for file in files):
            return True
    return False


def _is_newer(path: str, began: float) -> bool:
    name = os.path.basename(path)
    if name.startswith(".") or any(each in name for each in _NO_STATE):
        return False
    try:
        # File systems round times down, some to two seconds.
        return os.stat(path, follow_symlinks=False).st_mtime > began - 2
    except OSError:
        return False
