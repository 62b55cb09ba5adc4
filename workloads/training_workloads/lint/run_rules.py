"""Runs the rules of the lint: over text, over documents with their lines, or over objects."""

from collections.abc import Collection, Sequence
from typing import Any

from training_workloads.lint.finding import Finding
from training_workloads.lint.rules import FIELD_RULES, JOB_RULES, POD_RULES, STORAGE_RULES, WORKLOAD_RULES
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.lint.selection import selected
from training_workloads.manifests.documents import Document, read_documents
from training_workloads.manifests.values import mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.spec import KIND
from training_workloads.mpijob.view import MpiJobView

__all__ = ["KNOWN_KINDS", "lint_documents", "lint_manifest", "lint_read", "lint_text"]

_STORAGE_KINDS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")

#: Kinds of documents that rules exist for.
KNOWN_KINDS = (KIND, *_STORAGE_KINDS)


def lint_text(text: str) -> list[tuple[Finding, int]]:
    """Apply every rule to a manifest.

    Args:
        text: YAML or JSON with any number of documents.

    Returns:
        The findings, each with its line, from 1, by line.

    Raises:
        InputError: The text is not a manifest.
    """
    return lint_read(read_documents(text))


def lint_read(documents: Sequence[Document], rules: Collection[str] | None = None) -> list[tuple[Finding, int]]:
    """Apply rules to the documents of one text.

    Args:
        documents: All of the text.
        rules: Ids of the rules. Default: every rule.

    Returns:
        The findings that no comment suppresses, each with its line, from 1, by line.
    """
    linted = zip(documents, lint_documents([document.content for document in documents]), strict=True)
    located = [(finding, document.line(finding.path)) for document, findings in linted for finding in findings]
    return selected(located, documents[0].yaml.text if documents else "", rules)


def lint_manifest(document: Any) -> list[Finding]:
    """Apply every rule to one object.

    Args:
        document: An MPIJob, PersistentVolume, PersistentVolumeClaim or StorageClass in the wire format, of any shape.
            An object of another kind has no findings.

    Returns:
        The findings, in the order of the rules.
    """
    return lint_documents([document])[0]


def lint_documents(documents: Sequence[Any]) -> list[list[Finding]]:
    """Apply every rule to objects that belong together, such as those of one file.

    Args:
        documents: Of any kind and shape.

    Returns:
        The findings of each.
    """
    neighbours = [mapping(document) for document in documents]
    return [_lint(document, neighbours) for document in neighbours]


def _lint(document: Any, neighbours: Sequence[Any]) -> list[Finding]:
    if document.get("kind") == KIND:
        return _lint_job(MpiJobView(document=document))
    if document.get("kind") in _STORAGE_KINDS:
        storage = Storage(document=document, neighbours=neighbours)
        return [finding for rule in STORAGE_RULES for finding in rule.apply(storage)]
    return []


def _lint_job(job: MpiJobView) -> list[Finding]:
    found = [finding for rule in JOB_RULES for finding in rule.apply(job)]
    found += _lint_workload(job)
    # A rule's error at a value is more specific than the schema's; a warning must not hide an error.
    known = {finding.path for finding in found if finding.level == "error"}
    return found + [new for rule in FIELD_RULES for new in rule.apply(job) if new.path not in known]


def _lint_workload(workload: WorkloadView) -> list[Finding]:
    """Return the findings of the rules for pods of any kind."""
    found = [finding for rule in WORKLOAD_RULES for finding in rule.apply(workload)]
    return found + [finding for pods in workload.groups for rule in POD_RULES for finding in rule.apply(pods)]
