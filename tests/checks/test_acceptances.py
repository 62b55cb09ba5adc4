from pathlib import Path

import pytest

from checks.findings import Acceptance, Finding, read_acceptances, remaining


def finding(rule: str, resource: str) -> Finding:
    return Finding(scanner="checkov", rule=rule, resource=resource, message="bad")


def acceptance(rule: str, resource: str) -> Acceptance:
    return Acceptance(rule=rule, resource=resource, reason="because")


def test_what_nobody_accepted_remains() -> None:
    found = [finding("A", "Pod.default.x-worker"), finding("B", "Pod.default.x-worker")]
    assert remaining(found, [acceptance("A", "Pod.*-worker")]) == [found[1]]


def test_another_object_is_not_accepted_with_it() -> None:
    found = [finding("A", "Pod.default.x-worker"), finding("A", "Pod.default.x-launcher")]
    assert remaining(found, [acceptance("A", "Pod.*-worker")]) == [found[1]]


def test_an_acceptance_that_nothing_needs_is_a_finding() -> None:
    (needless,) = remaining([], [acceptance("A", "Pod.*")])
    assert str(needless) == "accepted.yaml: A on Pod.*: nothing needs it: remove it"


def test_every_acceptance_of_the_project_has_a_reason(root: Path) -> None:
    accepted = read_acceptances(root / "checks/accepted.yaml")
    assert accepted
    for each in accepted:
        assert len(each.reason.split()) > 3, each


def test_an_acceptance_without_a_reason_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "accepted.yaml"
    path.write_text("- {rule: A, resource: B}\n")
    with pytest.raises(TypeError, match="reason"):
        read_acceptances(path)
