"""Where the links of pages to files and folders of the repository lead."""

import os
from pathlib import PurePosixPath

from setup.source_tree import ROOT, files, relative

__all__ = ["below", "inside", "page_name", "repository_path"]


def repository_path(page: str, link: str) -> str | None:
    """Return the path of the file or folder that a page's relative link leads to; None if Git has none there."""
    path = os.path.normpath(PurePosixPath(page).parent / link.partition("#")[0])
    known = any((ROOT / path) in (file, *file.parents) for file in files())
    return path if known and not path.startswith("..") else None


def page_name(path: str) -> str:
    """Return the name of the page that shows a file or a folder."""
    return f"{path}/index" if (ROOT / path).is_dir() else path


def below(path: str) -> set[str]:
    """Return a path, and for a folder everything in it."""
    found = [file for file in files() if (ROOT / path) in file.parents]
    folders = {parent for file in found for parent in file.parents if parent.is_relative_to(ROOT / path)}
    return {path, *map(relative, found), *map(relative, folders)}


def inside(path: str) -> list[str]:
    """Return the names of the files and folders in a folder; those of folders end in a slash."""
    rests = [file.relative_to(ROOT / path).parts for file in files() if (ROOT / path) in file.parents]
    return sorted({f"{rest[0]}/" if len(rest) > 1 else rest[0] for rest in rests})
