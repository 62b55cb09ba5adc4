"""Finds what is wrong in the manifests of MPIJobs and of their volumes before a cluster does, or does not."""

from training_workloads.lint.run_rules import lint_documents, lint_manifest
from training_workloads.mpijob.documents import lint_text
from training_workloads.lint.finding import Finding

__all__ = ["Finding", "lint_documents", "lint_manifest", "lint_text"]
