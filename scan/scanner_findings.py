"""Findings of the scanners, and those that the project suppresses."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Finding", "Suppression", "read_suppressions", "unsuppressed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One result of a scanner.

    Attributes:
        scanner: Name of the scanner.
        rule: Id of the rule.
        resource: A path in the construct tree, a resource of a template, or a Kubernetes object.
        message: The scanner's message.
    """

    scanner: str
    rule: str
    resource: str
    message: str

    def __str__(self) -> str:
        return f"{self.scanner}: {self.rule} on {self.resource}: {self.message}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppression:
    """Findings that the project accepts.

    Attributes:
        rule: Id of the rule.
        resource: Kind, namespace and name of Kubernetes objects, `*` for any part.
        reason: Why the project accepts them.
    """

    rule: str
    resource: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Return whether this suppression applies to the finding."""
        return finding.rule == self.rule and fnmatchcase(finding.resource, self.resource)


def read_suppressions(path: Path) -> list[Suppression]:
    """Return the suppressions of a file; each entry has all three keys."""
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    return [Suppression(**entry) for entry in entries]


def unsuppressed(findings: Iterable[Finding], suppressions: Iterable[Suppression]) -> list[Finding]:
    """Return the findings without a suppression, and one finding for each unused suppression."""
    found, known = list(findings), list(suppressions)
    open_ = [finding for finding in found if not any(each.covers(finding) for each in known)]
    unused = [each for each in known if not any(each.covers(finding) for finding in found)]
    return open_ + [
        Finding(
            scanner="suppressions.yaml",
            rule=each.rule,
            resource=each.resource,
            message="no finding needs it: remove it",
        )
        for each in unused
    ]
