"""A copy of the folder of a script for each run: what one run writes, no other run and not the user's folder sees."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from training_workloads.validation import Problem, Problems

__all__ = ["copy_folder", "fits_into_copies", "hand_on", "inside", "is_of_a_test", "mark", "newest_change", "states"]

# A copy of more takes minutes for each run, and fills a disk.
_MOST_BYTES = 2 * 1024**3

# Neither is part of a program that runs: the history, and what a package manager has installed.
_LEFT_OUT = {".git", "node_modules", "__pycache__"}
_OF_AN_ENVIRONMENT = "pyvenv.cfg"

# Keeps the results out of the user's commits. Many folders have a file of this name: the text marks that of a test.
_MARK, _TEXT = ".gitignore", "# Written by 'trainctl test-resume', which makes this folder anew.\n*\n"


def mark(results: Path) -> None:
    """Mark a folder as the results of a test, which no copy contains and another test may remove."""
    (results / _MARK).write_text(_TEXT)


def is_of_a_test(folder: Path) -> bool:
    """Return whether a folder has the mark."""
    path = folder / _MARK
    return path.is_file() and path.read_bytes() == _TEXT.encode()


def fits_into_copies(folder: Path) -> Problems:
    """Yield a problem where a folder is too large to be copied for each run."""
    size = sum(path.stat().st_size for path in _files(folder) if path.is_file())
    if size > _MOST_BYTES:
        allowed = f"its {size / 1024**3:.1f} GiB would be copied for each run, and {_MOST_BYTES // 1024**3} GiB may be"
        fix = "start in the folder of the script alone, and give data by an absolute path"
        yield Problem(path=("folder",), given=str(folder), allowed=allowed, fix=fix)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, without environments, histories and results of tests. Links stay links, existing files as well."""

    def left_out(folder: str, names: Sequence[str]) -> set[str]:
        return {name for name in names if _is_left_out(Path(folder, name))}

    def copy(source: str, target: str) -> None:
        if not Path(target).exists():
            shutil.copy2(source, target, follow_symlinks=False)

    shutil.copytree(source, target, symlinks=True, ignore=left_out, copy_function=copy, dirs_exist_ok=True)


def hand_on(previous: Path, copied: Mapping[str, tuple[int, int]], target: Path) -> None:
    """Move the files that a program did not change from its copy into the next one: data is on the disk once."""
    for name, state in states(previous).items():
        if copied.get(name) == state and not (previous / name).is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (previous / name).rename(target / name)


def inside(folder: Path, words: Sequence[str], copy: Path) -> list[str]:
    """Return a script's arguments with each absolute path inside the folder as that inside its copy."""
    return [word.replace(f"{folder}{os.sep}", f"{copy}{os.sep}") for word in words]


def newest_change(path: Path) -> float:
    """Return when something under a path changed last, in seconds since the epoch; 0 where there is nothing."""
    newest = 0.0
    for each in (path, *(_files(path) if path.is_dir() else ())):
        if each.exists():
            newest = max(newest, each.stat().st_mtime)
    return newest


def states(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size and time of each file in a folder, by its path inside it; a copy has those of its source."""
    found = {}
    for path in _files(folder):
        if path.is_file():
            found[str(path.relative_to(folder))] = (path.stat().st_size, path.stat().st_mtime_ns)
    return found


def _files(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_left_out(Path(here, name))]
        yield from (Path(here, name) for name in names)


def _is_left_out(path: Path) -> bool:
    return path.name in _LEFT_OUT or (path / _OF_AN_ENVIRONMENT).is_file() or is_of_a_test(path)
