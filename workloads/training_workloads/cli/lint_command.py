"""The command `lint`: checks manifests, and prints what it finds for readers, scripts and CI."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from training_workloads.cli.command_classes import Command
from training_workloads.cli.help_text import JOBS_HERE
from training_workloads.cli.program import app
from training_workloads.exit_codes import LINT_ERRORS
from training_workloads.validation import InputError, Problem, one_of

# The command imports what it runs, so that `--help` and each other command start fast.
if TYPE_CHECKING:
    from training_workloads.manifests.documents import Document

__all__ = ["lint"]

_RULES_HELP = "Rules by their ids, separated by commas; may be given several times."


@app.command(cls=Command, rich_help_panel=JOBS_HERE)
def lint(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Manifests, or folders with manifests; - reads stdin.")
    ],
    recursive: Annotated[bool, typer.Option("--recursive", "-R", help="Read the folders inside a folder too.")] = False,
    output_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="What to print: text, json, sarif, github (annotations).")
    ] = "text",
    select: Annotated[list[str] | None, typer.Option(metavar="RULES", help=f"Check these only. {_RULES_HELP}")] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="RULES", help=f"Do not check these. {_RULES_HELP}")
    ] = None,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Accept files without a kind that rules exist for.")
    ] = False,
) -> None:
    """Check manifests of MPIJobs and volumes, of this project or any other, for known mistakes."""
    from training_workloads.lint import lint_read
    from training_workloads.lint.reports import FORMATS, Located
    from training_workloads.lint.run_rules import KNOWN_KINDS
    from training_workloads.lint.selection import chosen_rules
    from training_workloads.manifests.documents import read_manifests

    checked = [*one_of("output_format", output_format, list(FORMATS))]
    if checked:
        raise InputError(*checked)
    rules = chosen_rules(_split(select), _split(ignore))
    read, problems = read_manifests(files, recursive=recursive, tolerant=True)
    everything = [document for _, documents in read for document in documents]
    if not (problems or ignore_unknown or any(_kind(document) in KNOWN_KINDS for document in everything)):
        raise InputError(_nothing_to_check(files, sorted(set(map(_kind, everything)) - {""}), recursive=recursive))
    found = [
        Located(name, line, finding) for name, documents in read for finding, line in lint_read(documents, rules=rules)
    ]
    if report := FORMATS[output_format](found, len(read)):
        print(report)
    if problems:
        raise InputError(*problems)
    if any(one.finding.level == "error" for one in found):
        raise typer.Exit(LINT_ERRORS)


def _split(given: list[str] | None) -> list[str] | None:
    """Return the names of an option that has several in each of its values; None where it is not given."""
    return None if given is None else [name.strip() for value in given for name in value.split(",") if name.strip()]


def _nothing_to_check(files: list[str], kinds: list[str], *, recursive: bool) -> Problem:
    from training_workloads.lint.run_rules import KNOWN_KINDS

    contains = ", ".join(kinds) or "no Kubernetes object"
    below = "" if recursive or not any(Path(each).is_dir() for each in files) else ", or -R for the folders inside it"
    return Problem(
        path=("file",),
        given=", ".join(files),
        allowed=f"it contains {contains}, and the rules are for {', '.join(KNOWN_KINDS)}",
        fix=f"give a manifest with one of these{below}",
    )


def _kind(document: "Document") -> str:
    kind = document.content.get("kind") if isinstance(document.content, dict) else None
    return kind if isinstance(kind, str) else ""
