from pathlib import Path

import pytest

from scan.scanner_findings import Finding, Suppression, read_suppressions, unsuppressed


def finding(rule: str, resource: str) -> Finding:
    return Finding(scanner="checkov", rule=rule, resource=resource, message="bad")


def suppression(rule: str, resource: str) -> Suppression:
    return Suppression(rule=rule, resource=resource, reason="because")


def test_returns_findings_of_other_rules() -> None:
    found = [finding("A", "Pod.default.x-worker"), finding("B", "Pod.default.x-worker")]
    assert unsuppressed(found, [suppression("A", "Pod.*-worker")]) == [found[1]]


def test_returns_findings_on_other_objects() -> None:
    found = [finding("A", "Pod.default.x-worker"), finding("A", "Pod.default.x-launcher")]
    assert unsuppressed(found, [suppression("A", "Pod.*-worker")]) == [found[1]]


def test_reports_an_unused_suppression() -> None:
    (unused,) = unsuppressed([], [suppression("A", "Pod.*")])
    assert str(unused) == "suppressions.yaml: A on Pod.*: no finding needs it: remove it"


def test_every_suppression_of_the_project_has_a_reason(root: Path) -> None:
    suppressions = read_suppressions(root / "scan/suppressions.yaml")
    assert suppressions
    for each in suppressions:
        assert len(each.reason.split()) > 3, each


def test_rejects_a_suppression_without_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "suppressions.yaml"
    path.write_text("- {rule: A, resource: B}\n")
    with pytest.raises(TypeError, match="reason"):
        read_suppressions(path)
