"""What a scanner complains about, and what of it is accepted."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Acceptance", "Finding", "read_acceptances", "remaining"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One complaint.

    Attributes:
        scanner: Who complains.
        rule: Id of the rule.
        resource: What it is about: a path in the tree of constructs, a resource of a template, or a Kubernetes object.
        message: What is wrong.
    """

    scanner: str
    rule: str
    resource: str
    message: str

    def __str__(self) -> str:
        return f"{self.scanner}: {self.rule} on {self.resource}: {self.message}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Acceptance:
    """A finding that is no problem.

    Attributes:
        rule: Id of the rule.
        resource: Kind, namespace and name of Kubernetes objects, `*` for any part.
        reason: Why it is none.
    """

    rule: str
    resource: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether this is about the finding."""
        return finding.rule == self.rule and fnmatchcase(finding.resource, self.resource)


def read_acceptances(path: Path) -> list[Acceptance]:
    """Reads a list of acceptances; each has all three keys."""
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    return [Acceptance(**entry) for entry in entries]


def remaining(findings: Iterable[Finding], acceptances: Iterable[Acceptance]) -> list[Finding]:
    """The findings that nobody accepted, and one for each acceptance that nothing needs any more."""
    found, accepted = list(findings), list(acceptances)
    open_ = [finding for finding in found if not any(each.covers(finding) for each in accepted)]
    needless = [each for each in accepted if not any(each.covers(finding) for finding in found)]
    return open_ + [
        Finding(scanner="accepted.yaml", rule=each.rule, resource=each.resource, message="nothing needs it: remove it")
        for each in needless
    ]
