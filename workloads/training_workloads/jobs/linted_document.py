"""A document as the lint sees it: its errors stop the app that defines it, its warnings are kept as text."""

from typing import TYPE_CHECKING, Any

from training_workloads.validation import MISSING, InputError, Problem

if TYPE_CHECKING:
    from training_workloads.lint import Finding

__all__ = ["lint_warnings"]


def lint_warnings(document: dict[str, Any]) -> list[str]:
    """Return the lint's warnings of a document, and raise its errors.

    Args:
        document: In the Kubernetes wire format.

    Raises:
        InputError: The lint finds an error: the job would not work.
    """
    # Imported here because the schemas take half a second, which an app without jobs need not wait for.
    from training_workloads.lint import lint_manifest

    findings = lint_manifest(document)
    if errors := [finding for finding in findings if finding.level == "error"]:
        raise InputError(*(_problem(finding, document) for finding in errors))
    return [str(finding) for finding in findings]


def _problem(finding: "Finding", document: Any) -> Problem:
    given = document
    for key in finding.path:
        try:
            given = given[key]
        except (KeyError, IndexError, TypeError):
            given = MISSING
    allowed = f"the lint reports {finding.rule}: {finding.problem}"
    return Problem(path=finding.path, given=given, allowed=allowed, fix=finding.fix)
