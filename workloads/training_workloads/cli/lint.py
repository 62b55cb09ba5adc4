"""`lint`: what is wrong in manifests, before a cluster sees them."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from training_workloads.cli.program import HERE, app
from training_workloads.lint.finding import Finding
from training_workloads.lint.run_rules import KNOWN_KINDS, lint_read
from training_workloads.mpijob.documents import MANIFEST_SUFFIXES, Document, read_documents
from training_workloads.validation import InputError

__all__ = ["ERRORS_FOUND", "lint"]

#: Exit code for manifests with an error in them.
ERRORS_FOUND = 1

_STANDARD_INPUT = "-"


@app.command(rich_help_panel=HERE)
def lint(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Manifests or folders of them; - reads stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of objects.")] = False,
) -> None:
    """Check the manifests of MPIJobs and volumes, your own or others', against the traps of the platform."""
    read, mistakes = _read_all(_expand(files))
    if not mistakes and not any(_is_known(document) for _, documents in read for document in documents):
        raise InputError(f"nothing to lint in {', '.join(files)}; there are rules for {', '.join(KNOWN_KINDS)}")
    found = [(name, line, finding) for name, documents in read for finding, line in lint_read(documents)]
    if as_json:
        print(json.dumps([_as_object(*one) for one in found], indent=2))
    elif read:
        for name, line, finding in found:
            print(f"{name}:{line}: {finding}")
        print(_summary([finding for _, _, finding in found], len(read)))
    if mistakes:
        raise InputError(*mistakes)
    if any(finding.level == "error" for _, _, finding in found):
        raise typer.Exit(ERRORS_FOUND)


def _expand(names: list[str]) -> list[str]:
    """The files, with those of each folder and of the folders in it in its place."""
    files: list[str] = []
    for name in names:
        if not name:
            raise InputError("'' is no file; give a manifest, a folder or -")
        if name != _STANDARD_INPUT and Path(name).is_dir():
            inside = _inside(name)
            if not inside:
                raise InputError(
                    f"{name!r} is a folder without {', '.join(MANIFEST_SUFFIXES)} files; give one with manifests"
                )
            files += map(str, inside)
        else:
            files.append(name)
    return list(dict.fromkeys(files))


def _inside(folder: str) -> list[Path]:
    """The manifests of a folder at any depth, by path; what is hidden is left out."""
    found: list[Path] = []
    # A folder that cannot be listed is told like a file that cannot be read.
    for path, folders, names in os.walk(folder, onerror=lambda error: found.append(Path(error.filename))):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = (Path(path, name) for name in names if not name.startswith("."))
        found.extend(one for one in inside if one.suffix in MANIFEST_SUFFIXES and one.is_file())
    return sorted(found)


def _read_all(names: list[str]) -> tuple[list[tuple[str, list[Document]]], list[str]]:
    """The documents of each file that can be read, and what is wrong with the others."""
    read, mistakes = [], []
    for name in names:
        try:
            read.append((name, _read(name)))
        except InputError as error:
            mistakes.append(str(error))
    return read, mistakes


def _read(name: str) -> list[Document]:
    try:
        text = sys.stdin.read() if name == _STANDARD_INPUT else Path(name).read_text(encoding="utf-8")
        return read_documents(text)
    except OSError as error:
        raise InputError(f"{name!r} cannot be read ({error.strerror}); give a manifest, a folder or -") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{name!r} is not text; give a manifest") from error
    except InputError as error:
        raise InputError(f"{name!r} {error}") from error


def _is_known(document: Document) -> bool:
    return isinstance(document.content, dict) and document.content.get("kind") in KNOWN_KINDS


def _as_object(name: str, line: int, finding: Finding) -> dict[str, str | int]:
    return {
        "file": name,
        "line": line,
        "level": finding.level,
        "rule": finding.rule,
        "path": finding.where,
        "problem": finding.problem,
        "fix": finding.fix,
    }


def _summary(findings: list[Finding], files: int) -> str:
    errors = sum(finding.level == "error" for finding in findings)
    counted = ((errors, "error"), (len(findings) - errors, "warning"))
    counts = ", ".join(f"{count} {word}{'s' if count != 1 else ''}" for count, word in counted)
    return f"{counts} in {files} file{'s' if files != 1 else ''}"
