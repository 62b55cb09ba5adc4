"""The lint of documents that are read already: every rule that belongs to a document's kind."""

from collections.abc import Sequence
from typing import Any

from training_workloads.mpijob.spec import KIND
from training_workloads.lint.finding import Finding
from training_workloads.mpijob.view import Job, mapping
from training_workloads.lint.rules import FIELD_RULES, JOB_RULES, STORAGE_RULES
from training_workloads.lint.rules.storage import Storage

__all__ = ["KNOWN_KINDS", "lint_documents", "lint_manifest"]

_STORAGE_KINDS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")

#: Kinds of documents that there are rules for.
KNOWN_KINDS = (KIND, *_STORAGE_KINDS)


def lint_manifest(document: Any) -> list[Finding]:
    """Applies every rule to one document.

    Args:
        document: An MPIJob, PersistentVolume, PersistentVolumeClaim or StorageClass as it stands in a manifest, of any
            shape. Nothing is found in a document of another kind.

    Returns:
        What is wrong, in the order of the rules.
    """
    return lint_documents([document])[0]


def lint_documents(documents: Sequence[Any]) -> list[list[Finding]]:
    """Applies every rule to documents that belong together, such as those of one file.

    Args:
        documents: Of any kind and shape.

    Returns:
        For each document what is wrong in it.
    """
    neighbours = [mapping(document) for document in documents]
    return [_lint(document, neighbours) for document in neighbours]


def _lint(document: Any, neighbours: Sequence[Any]) -> list[Finding]:
    if document.get("kind") == KIND:
        job = Job(document=document)
        found = [finding for rule in JOB_RULES for finding in rule.apply(job)]
        # A value that a rule speaks of is not told once more as one that the schema does not allow.
        told = {finding.path for finding in found}
        return found + [new for rule in FIELD_RULES for new in rule.apply(job) if new.path not in told]
    if document.get("kind") in _STORAGE_KINDS:
        storage = Storage(document=document, neighbours=neighbours)
        return [finding for rule in STORAGE_RULES for finding in rule.apply(storage)]
    return []
