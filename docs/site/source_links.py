"""Where the links of pages to files and folders of the repository lead."""

import os
import re
from pathlib import Path, PurePosixPath

from setup.source_tree import ROOT, files, relative

__all__ = ["anchors_in_sources", "below", "inside", "page_name", "repository_path", "shown_text"]


def repository_path(page: str, link: str) -> str | None:
    """Return the path of the file or folder that a page's relative link leads to; None if Git has none there."""
    path = os.path.normpath(PurePosixPath(page).parent / link)
    known = any((ROOT / path) in (file, *file.parents) for file in files())
    is_folder_of_name = not link.endswith("/") or (ROOT / path).is_dir()
    return path if known and is_folder_of_name and not path.startswith("..") else None


def anchors_in_sources(text: str) -> list[str]:
    """Return the links of a page to a place in a file that is no page: the site has no anchors there."""
    return re.findall(r"\]\(((?!\w+:)[^)#\s]+(?<!\.md)#[^)\s]*)\)", text)


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


def shown_text(path: Path) -> str:
    """Return the text of a file, or a note on a file without text."""
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return f"(a binary file with {path.stat().st_size} bytes)"
