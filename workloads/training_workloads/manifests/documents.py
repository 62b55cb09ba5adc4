"""Manifests: the files that `kubectl apply -f` reads, their documents, and the line of each value."""

import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from training_workloads.validation import InputError, Problem
from training_workloads.validation import Path as ValuePath
from training_workloads.yaml_lines import YamlDocument, read_yaml

__all__ = [
    "MANIFEST_SUFFIXES",
    "STANDARD_INPUT",
    "Document",
    "manifest_files",
    "read_documents",
    "read_manifest",
    "read_manifests",
]

#: Files that `kubectl apply -f <folder>` reads.
MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")

# An object of Kubernetes has 1.5 MiB at most, and a file some hundreds of them.
_LARGEST = 64 * 2**20

#: The name of the standard input.
STANDARD_INPUT = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One object of a manifest.

    Attributes:
        content: Its value, of any shape.
        yaml: The YAML document that contains it.
        prefix: Its path in the YAML document: that of an item of a `List`, else empty.
    """

    content: Any
    yaml: YamlDocument
    prefix: ValuePath = ()

    def line(self, path: ValuePath = ()) -> int:
        """Return the line, from 1, of a value, or of the innermost existing value around it."""
        return self.yaml.line((*self.prefix, *path))

    def where(self, path: ValuePath = ()) -> str:
        """Return the place of a value: `job.yaml:12`."""
        return self.yaml.where((*self.prefix, *path))

    @property
    def problems(self) -> Iterator[Problem]:
        """Its keys that are duplicate or no names, with paths in the object."""
        depth = len(self.prefix)
        for problem in self.yaml.problems:
            if problem.path[:depth] == self.prefix:
                yield replace(problem, path=problem.path[depth:])

    @property
    def lossy(self) -> list[ValuePath]:
        """Its mappings in which a key of `problems` loses a value, with paths in the object."""
        depth = len(self.prefix)
        return [path[depth:] for path in self.yaml.lossy if path[:depth] == self.prefix]


def read_documents(text: str | bytes, source: str = "", *, tolerant: bool = False) -> list[Document]:
    """Read every object of a manifest, with those of a `List`.

    Args:
        text: YAML or JSON with any number of documents; bytes are UTF-8.
        source: The name of the text, for problems.
        tolerant: Whether objects with duplicate keys are read too, for who reports their `problems`.

    Raises:
        InputError: The text is not YAML, or has duplicate keys; for a Helm template the problem names it.
    """
    found = read_yaml(text, source)
    problems = [problem for document in found for problem in document.problems]
    read = [item for document in found for item in _items(document)]
    # Those of a `List` itself belong to no object.
    reported = [problem.source for item in read for problem in item.problems] if tolerant else []
    if len(reported) < len(problems):
        raise InputError(*(problem for problem in problems if problem.source not in reported))
    return read


def _items(document: YamlDocument) -> Iterator[Document]:
    content = document.content
    is_list = isinstance(content, dict) and str(content.get("kind")).endswith("List")
    if not is_list or not isinstance(content.get("items"), list):
        yield Document(content=content, yaml=document)
        return
    for number, item in enumerate(content["items"]):
        yield Document(content=item, yaml=document, prefix=("items", number))


def read_manifest(name: str | Path, *, tolerant: bool = False) -> list[Document]:
    """Read every object of a file, or of the standard input for `-`.

    Args:
        name: The file.
        tolerant: As for `read_documents`.

    Raises:
        InputError: The file cannot be read, or is not a manifest.
    """
    try:
        text = _read(name)
    except OSError as error:
        raise InputError(_unreadable(name, error)) from error
    try:
        return read_documents(text, str(name), tolerant=tolerant)
    except InputError as error:
        raise InputError(_not_shown(name)) if _leads_away(name) else error from error


def _leads_away(name: str | Path) -> bool:
    """Return whether a file is a link to one in another folder, such as a secret of who checks a cloned repository."""
    path = Path(name)
    return path.is_symlink() and path.parent.resolve() not in path.resolve().parents


def _not_shown(name: str | Path) -> Problem:
    allowed = "it is a link out of its folder, to a file that is not a valid manifest; no line of it is shown"
    return Problem(path=("file",), given=str(name), allowed=allowed, fix="give the file itself, or remove the link")


def _read(name: str | Path) -> bytes:
    """Return the bytes of a file or of the standard input.

    Raises:
        InputError: It is a device, or larger than any manifest: `/dev/zero` has no end.
    """
    if str(name) == STANDARD_INPUT:
        text = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        mode = Path(name).stat().st_mode
        # A pipe is one of a shell's <(…).
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(_rejected(name, "it is a device"))
        with Path(name).open("rb") as file:
            text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise InputError(_rejected(name, f"it has more than {_LARGEST // 2**20} MiB"))
    return text


def _rejected(name: str | Path, why: str) -> Problem:
    return Problem(path=("file",), given=str(name), allowed=why, fix="give a manifest, a folder or -")


def read_manifests(
    names: Iterable[str | Path], *, recursive: bool | None = None, tolerant: bool = False
) -> tuple[list[tuple[str, list[Document]]], list[Problem]]:
    """Read every object of files and of folders with files.

    Args:
        names: Files, folders, or `-` for the standard input.
        recursive: Whether to read the folders inside a folder too. Default: one level, as `kubectl apply -f`. False is
            that of a command with the option `-R`, which a problem then names.
        tolerant: As for `read_documents`.

    Returns:
        The documents of each file that can be read, by its name, and the problems of the others.
    """
    files, problems = manifest_files(names, recursive=recursive)
    read = []
    for name in files:
        try:
            read.append((name, read_manifest(name, tolerant=tolerant)))
        except InputError as error:
            problems += error.problems
    return read, problems


def manifest_files(names: Iterable[str | Path], *, recursive: bool | None = None) -> tuple[list[str], list[Problem]]:
    """Return the files of some names, each once, with those of a folder in its place; hidden files are skipped.

    Args:
        names: Files, folders, or `-` for the standard input.
        recursive: Whether to look into the folders inside a folder too, as for `read_manifests`.

    Returns:
        The files, which may not exist, and the problems of folders.
    """
    files: dict[str, None] = {}
    problems: list[Problem] = []
    for name in map(str, names):
        if not name:
            problems.append(Problem(path=("file",), given=name, fix="give a manifest, a folder or -"))
        elif name == STANDARD_INPUT or not Path(name).is_dir():
            files[name] = None
        else:
            inside, unreadable = _inside(Path(name), recursive=bool(recursive))
            problems += unreadable or ([] if inside else [_no_manifests(name, recursive=recursive)])
            files |= dict.fromkeys(map(str, inside))
    return list(files), problems


def _inside(folder: Path, *, recursive: bool) -> tuple[list[Path], list[Problem]]:
    """Return the manifests of a folder by path, and the problems of folders that cannot be listed."""
    try:
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        return [], [_unreadable(folder, error)]
    found: list[Path] = []
    problems: list[Problem] = []
    for entry in entries:
        if entry.is_dir():
            # A link to a folder may lead back to it.
            if recursive and not entry.is_symlink():
                below, unreadable = _inside(entry, recursive=True)
                found += below
                problems += unreadable
        elif entry.suffix in MANIFEST_SUFFIXES:
            if entry.is_file():
                found.append(entry)
            else:
                problems.append(_not_a_file(entry))
    return sorted(found), problems


def _not_a_file(entry: Path) -> Problem:
    """Return the problem of a pipe, which may have no end, or of a link: a missing manifest must not look right."""
    allowed = "it is a link to a file that does not exist" if entry.is_symlink() else "it is not a regular file"
    return Problem(path=("file",), given=str(entry), allowed=allowed, fix="replace or remove it")


def _no_manifests(folder: str, *, recursive: bool | None) -> Problem:
    allowed = f"the folder has no {_listed(MANIFEST_SUFFIXES)} file"
    fix = "give a folder with manifests" + (", or -R for the folders inside it" if recursive is False else "")
    return Problem(path=("file",), given=folder, allowed=allowed, fix=fix)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _unreadable(name: str | Path, error: OSError) -> Problem:
    return _rejected(name, f"it cannot be read ({error.strerror})")
