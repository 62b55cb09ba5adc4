"""Where the links of pages to files and folders of the repository lead."""

import os
from pathlib import PurePosixPath

from tests.source_tree import ROOT, files, relative

__all__ = ["below", "page_name", "repository_path"]


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
    inside = [file for file in files() if (ROOT / path) in file.parents]
    folders = {parent for file in inside for parent in file.parents if parent.is_relative_to(ROOT / path)}
    return {path, *map(relative, inside), *map(relative, folders)}
