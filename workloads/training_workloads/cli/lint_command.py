"""The command `lint`: checks manifests, and prints what it finds for readers, scripts and CI."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from training_workloads.cli.commands import Command
from training_workloads.cli.parameters import files_argument, recursive_option
from training_workloads.exit_codes import LINT_ERRORS
from training_workloads.lint import lint_read
from training_workloads.lint.pod_security import needed_level
from training_workloads.lint.reports import FORMATS, Located
from training_workloads.lint.run_rules import KNOWN_KINDS, pod_groups
from training_workloads.lint.selection import SECURITY_IDS, chosen_rules
from training_workloads.manifests.documents import Document, read_manifests
from training_workloads.manifests.pod_templates import POD_KINDS
from training_workloads.manifests.values import mapping, value_at
from training_workloads.recipes.cluster_fit import noted
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem, check, one_of

__all__ = ["lint"]

_RULES_HELP = "Rules by their ids, or the group 'security', separated by commas; may be given several times."


@click.command(cls=Command)
@files_argument
@recursive_option
@click.option(
    "--format",
    "output_format",
    metavar="FORMAT",
    default="text",
    help="What to print: text, json, sarif, github (annotations).",
)
@click.option("--select", metavar="RULES", multiple=True, help=f"Check these only. {_RULES_HELP}")
@click.option("--ignore", metavar="RULES", multiple=True, help=f"Do not check these. {_RULES_HELP}")
@click.option("--ignore-unknown", is_flag=True, help="Accept files without a kind that rules exist for.")
def lint(
    files: tuple[str, ...],
    recursive: bool,
    output_format: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    ignore_unknown: bool,
) -> None:
    """Check manifests of MPIJobs and volumes, of this project or any other, for known mistakes."""
    check(one_of("output_format", output_format, FORMATS))
    rules = chosen_rules(_split(select), _split(ignore))
    read, problems = read_manifests(files, recursive=recursive, tolerant=True)
    given = {_kind(document) for _, documents in read for document in documents}
    is_security = bool(rules & SECURITY_IDS)
    kinds = (*KNOWN_KINDS, *POD_KINDS) if is_security else KNOWN_KINDS
    if not (problems or ignore_unknown or given.intersection(kinds)):
        raise InputError(_nothing_to_check(files, sorted(given - {""}), kinds, recursive=recursive))
    found = [
        Located(name, line, finding) for name, documents in read for finding, line in lint_read(documents, rules=rules)
    ]
    say(*filter(None, FORMATS[output_format](found, len(read)).split("\n")))
    say(*(f"note: {problem}" for problem in noted(read)), error=True)
    if is_security:
        say(*_levels(read), error=True)
    if problems:
        raise InputError(*problems)
    if any(one.finding.level == "error" for one in found):
        raise click.exceptions.Exit(LINT_ERRORS)


def _split(given: tuple[str, ...]) -> list[str] | None:
    """Return the names of an option that has several in each of its values; None where it is not given."""
    return None if not given else [name.strip() for value in given for name in value.split(",") if name.strip()]


def _levels(read: Sequence[tuple[str, Sequence[Document]]]) -> Iterator[str]:
    """Yield the Pod Security level that each pod needs."""
    for file, documents in read:
        for document in documents:
            content = mapping(document.content)
            for pods in pod_groups(content):
                # The rest of such a template is in another object.
                least = "" if pods.is_whole else "at least "
                name = f"{_kind(document)} {value_at(content, ('metadata', 'name'))!r}"
                role = "" if pods.role == _kind(document) else f", {pods.role}"
                place = f"{file}:{document.line(pods.template_path)}"
                yield f"note: {place}: {name}{role} needs {least}the Pod Security level '{needed_level(pods)}'"


def _nothing_to_check(files: tuple[str, ...], given: list[str], kinds: Sequence[str], *, recursive: bool) -> Problem:
    contains = ", ".join(given) or "no Kubernetes object"
    below = "" if recursive or not any(Path(each).is_dir() for each in files) else ", or -R for the folders inside it"
    return Problem(
        path=("file",),
        given=", ".join(files),
        allowed=f"it contains {contains}, and the rules are for {', '.join(kinds)}",
        fix=f"give a manifest with one of these{below}",
    )


def _kind(document: Document) -> str:
    kind = document.content.get("kind") if isinstance(document.content, dict) else None
    return kind if isinstance(kind, str) else ""
