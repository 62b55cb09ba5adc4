"""Runs the rules of the lint: over text, over documents with their lines, or over objects."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from training_workloads.lint.finding import Finding
from training_workloads.lint.misplaced import Corrected
from training_workloads.lint.rule import Rule
from training_workloads.lint.rules import (
    DOCUMENT_RULES,
    FIELD_RULES,
    JOB_RULES,
    METADATA_RULES,
    OTHER_JOB_RULES,
    POD_API_RULES,
    POD_RULES,
    SECURITY_RULES,
    SERVICE_RULES,
    STORAGE_RULES,
    WORKLOAD_RULES,
)
from training_workloads.lint.rules.document_rules import duplicate_key
from training_workloads.lint.rules.efa_rules import efa_not_requested
from training_workloads.lint.rules.pod_security_rules import SecuredPods
from training_workloads.lint.rules.schema_rules import api_version, is_of_another_project, is_of_training_operator
from training_workloads.lint.rules.storage_rules import Storage
from training_workloads.lint.selection import SECURITY_IDS, selected
from training_workloads.manifests.documents import Document, read_documents
from training_workloads.manifests.other_workloads import OTHER_KINDS, other_workload
from training_workloads.manifests.pod_templates import pods_of
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.api import KIND
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import Path

__all__ = ["KNOWN_KINDS", "lint_documents", "lint_manifest", "lint_read", "lint_text", "pod_groups"]

_API_RULES: tuple[Rule[Any], ...] = (*FIELD_RULES, *POD_API_RULES, *METADATA_RULES)
_OF_THE_API = frozenset(rule.id for rule in _API_RULES)

_STORAGE_KINDS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")

#: Kinds of documents that rules exist for. A Service has rules beside a job of its file only.
KNOWN_KINDS = (KIND, *_STORAGE_KINDS, *OTHER_KINDS)


def lint_text(text: str) -> list[tuple[Finding, int]]:
    """Apply every rule to a manifest.

    Args:
        text: YAML or JSON with any number of documents.

    Returns:
        The findings, each with its line, from 1, by line.

    Raises:
        InputError: The text is not a manifest.
    """
    return lint_read(read_documents(text, tolerant=True))


def lint_read(documents: Sequence[Document], rules: Collection[str] | None = None) -> list[tuple[Finding, int]]:
    """Apply rules to the documents of one text.

    Args:
        documents: All of the text.
        rules: Ids of the rules. Default: all that are in no group.

    Returns:
        The findings that no comment suppresses, each with its line, from 1, by line.
    """
    located, hiding = [], []
    security = bool(SECURITY_IDS & set(rules or ()))
    found = lint_documents([document.content for document in documents], security=security)
    for document, findings in zip(documents, found, strict=True):
        lossy = document.lossy
        for finding in _apply(DOCUMENT_RULES, document):
            place = (finding, document.line(finding.path))
            located.append(place)
            if finding.rule == duplicate_key.id and (finding.path in lossy or finding.path[:-1] in lossy):
                hiding.append(place)
        for finding in findings:
            # A lost value may be the one that is meant.
            if not any(finding.path[: len(path)] == path for path in lossy):
                located.append((finding, document.line(finding.path)))
    kept = selected(located, documents[0].yaml.text if documents else "", rules)
    # A part that no rule has judged is not right, whatever the user suppresses.
    return sorted([*kept, *(one for one in hiding if one not in kept)], key=lambda pair: pair[1])


def lint_manifest(document: Any) -> list[Finding]:
    """Apply every rule to one object.

    Args:
        document: An object of one of `KNOWN_KINDS` in the wire format, of any shape. One of another kind has no
            findings.

    Returns:
        The findings, in the order of the rules.
    """
    return lint_documents([document])[0]


def lint_documents(documents: Sequence[Any], *, security: bool = False) -> list[list[Finding]]:
    """Apply every rule to objects that belong together, such as those of one file.

    Args:
        documents: Objects of any kind and shape.
        security: Whether to apply the rules of the group `security` too.

    Returns:
        The findings of each.
    """
    neighbours = [mapping(document) for document in documents]
    return [
        _lint(document, neighbours) + (_lint_security(document, neighbours) if security else [])
        for document in neighbours
    ]


def pod_groups(document: Mapping[Any, Any]) -> Sequence[PodGroup]:
    """Return the pods of an object of any kind that has some."""
    workload = _workload(document)
    return workload.groups if workload else pods_of(document)


def _workload(document: Mapping[Any, Any]) -> WorkloadView | None:
    return MpiJobView(document=document) if document.get("kind") == KIND else other_workload(document)


def _lint_security(document: Mapping[Any, Any], neighbours: Sequence[Any]) -> list[Finding]:
    namespace, workload = mapping(document.get("metadata")).get("namespace"), _workload(document)
    found = []
    for pods in pod_groups(document):
        subject = SecuredPods(pods=pods, namespace=namespace, neighbours=neighbours)
        for finding in _apply(SECURITY_RULES, subject):
            path = workload.source_path(finding.path) if workload else finding.path
            found += [] if path is None else [replace(finding, path=path)]
    return found


def _lint(document: Any, neighbours: Sequence[Any]) -> list[Finding]:
    if document.get("kind") == KIND:
        return [] if is_of_another_project(document) else _lint_workload(MpiJobView(document=document))
    if document.get("kind") in (*_STORAGE_KINDS, "Service"):
        rules = SERVICE_RULES if document.get("kind") == "Service" else STORAGE_RULES
        return _apply(rules, Storage(document=document, neighbours=neighbours))
    workload = other_workload(document)
    return _lint_workload(workload) if workload else []


def _lint_workload(workload: WorkloadView) -> list[Finding]:
    if is_of_training_operator(workload.document):
        return [one for pods in workload.groups for one in _apply(POD_API_RULES, pods)]
    of_fields = _apply(FIELD_RULES, workload)
    return _one_for_each_value(_with_meant(workload, of_fields) if of_fields else _lint_meant(workload))


def _with_meant(workload: WorkloadView, of_fields: list[Finding]) -> list[Finding]:
    """Return the findings of a document with wrong fields, and those of the document as it was meant."""
    versions = [one for one in of_fields if one.rule == api_version.id]
    if versions and workload.document.get("apiVersion"):
        # Every other finding would be about the fields of another version.
        return versions
    corrected = Corrected.of(workload.kind, dict(workload.document))
    found = _lint_corrected(workload, corrected)
    # A rule's error at a value is more specific than the schema's; a warning must not hide an error.
    known = {finding.path for finding in found if finding.level == "error"} - {field.path for field in corrected.moved}
    of_fields = [one for one in of_fields if one.path not in known and not corrected.gives(one.path)]
    # A moved field is in the original place and in the right one.
    return [*dict.fromkeys(found), *of_fields]


def _lint_corrected(workload: WorkloadView, corrected: Corrected) -> list[Finding]:
    """Return the findings of a corrected document at their places in the original."""
    # The fields of misplaced resources are unknown.
    is_unclear = any(str(field.path[-1]).startswith("resource") for field in corrected.moved)
    found = []
    for finding in _lint_meant(replace(workload, document=corrected.document)):
        path = corrected.source_path(finding.path)
        if path is not None and not (is_unclear and finding.rule == efa_not_requested.id):
            found.append(replace(finding, path=path))
    return found


def _one_for_each_value(findings: list[Finding]) -> list[Finding]:
    """Return the findings without the further ones of a value that the API server rejects, and without its warnings."""
    rejected: dict[Path, Finding] = {}
    for finding in findings:
        if finding.rule in _OF_THE_API and finding.level == "error":
            rejected.setdefault(finding.path, finding)
    return [
        one
        for one in findings
        if rejected.get(one.path) in (None, one) or (one.level == "error" and one.rule not in _OF_THE_API)
    ]


def _lint_meant(workload: WorkloadView) -> list[Finding]:
    """Return the findings of the rules that need a document whose fields have the right places and types."""
    found = _apply(JOB_RULES if isinstance(workload, MpiJobView) else OTHER_JOB_RULES, workload)
    found += _apply(WORKLOAD_RULES, workload) if workload.trains else []
    for pods in workload.groups:
        found += _apply((*POD_API_RULES, *POD_RULES) if workload.trains else POD_API_RULES, pods)
    found += _apply(METADATA_RULES, workload)
    located = ((finding, workload.source_path(finding.path)) for finding in found)
    return [replace(finding, path=path) for finding, path in located if path is not None]


def _apply(rules: Iterable[Rule[Any]], subject: Any) -> list[Finding]:
    return [finding for rule in rules for finding in rule.apply(subject)]
