"""Finds mistakes in the manifests of MPIJobs and of their volumes before a cluster does, or does not."""

from training_workloads.lint.finding import Finding
from training_workloads.lint.run_rules import lint_documents, lint_manifest, lint_read, lint_text

__all__ = ["Finding", "lint_documents", "lint_manifest", "lint_read", "lint_text"]
