import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

from tests.workloads.lint import cases
from tests.workloads.lint.sample_job import changed, path_of
from training_workloads.lint import rules
from training_workloads.lint.rule import Found, Rule
from training_workloads.lint.rules import (
    DOCUMENT_RULES,
    EVERY_RULE,
    OTHER_JOB_RULES,
    SECURITY_RULES,
    SERVICE_RULES,
    STORAGE_RULES,
    SUPPRESSION_RULES,
)
from training_workloads.lint.run_rules import lint_manifest

CASES = [importlib.import_module(f"{cases.__name__}.{found.name}") for found in pkgutil.iter_modules(cases.__path__)]
FIRES = [(rule, *case) for module in CASES for rule, cases in module.FIRES.items() for case in cases]
SILENT = [(rule, case) for module in CASES for rule, cases in module.SILENT.items() for case in cases]
# Other tests have their cases.
_ELSEWHERE = (*STORAGE_RULES, *SERVICE_RULES, *OTHER_JOB_RULES, *DOCUMENT_RULES, *SUPPRESSION_RULES, *SECURITY_RULES)
ON_WORKLOADS = [rule for rule in EVERY_RULE if rule not in _ELSEWHERE and rule.id != "job-fields"]
LEVELS = {rule.id: rule.level for rule in ON_WORKLOADS}


def test_nothing_is_wrong_with_the_right_job() -> None:
    assert lint_manifest(changed({})) == []


@pytest.mark.parametrize("case", FIRES, ids=lambda case: case[0])
def test_a_rule_reports_what_is_wrong_and_where_and_no_other_rule_does(case: tuple[Any, ...]) -> None:
    rule, changes, *expected = case
    findings = lint_manifest(changed(changes))
    places, texts = [path_of(place) for place in expected[::2]], expected[1::2]
    found = [finding for finding in findings if finding.rule == rule]
    assert [finding.path for finding in found] == places
    assert [f"{finding.problem}; {finding.fix}" for finding in found] == texts
    assert {finding.level for finding in found} == {LEVELS[rule]}
    # A command is one place, and has many words.
    alone = {path_of(place) for place in expected[::2] if not place.endswith((" command", " args"))}
    beside = {finding.rule for finding in findings if finding.path in alone} - {rule}
    assert beside == set()


@pytest.mark.parametrize(("rule", "changes"), SILENT)
def test_a_rule_is_silent_where_nothing_is_wrong(rule: str, changes: dict[str, Any]) -> None:
    assert [str(finding) for finding in lint_manifest(changed(changes)) if finding.rule == rule] == []


def test_each_rule_on_jobs_has_a_wrong_case_and_a_right_one() -> None:
    ids = [rule.id for rule in ON_WORKLOADS]
    assert len(ids) == len(set(ids))
    assert {rule for rule, *_ in FIRES} == set(ids)
    assert {rule for rule, _ in SILENT} == set(ids)


def test_each_module_of_rules_is_in_use() -> None:
    files = {path.stem for path in Path(*rules.__path__).glob("*_rules.py")}
    assert {rule.check.__module__.rpartition(".")[2] for rule in EVERY_RULE} == files


def test_each_rule_says_what_it_finds_and_why() -> None:
    silent = [rule.id for rule in EVERY_RULE if not (rule.finds and rule.evidence)]
    assert silent == []


# `(run)` is what this project has run, `(derived)` what follows from the manifest and the definitions of its fields.
_SOURCE = re.compile(r"https://|#\d+|\(run\)|\(derived\)")


@pytest.mark.parametrize("rule", EVERY_RULE, ids=lambda rule: rule.id)
def test_the_evidence_of_a_rule_has_a_source(rule: Rule[Any]) -> None:
    assert _SOURCE.search(rule.evidence)


def test_the_schema_is_silent_where_a_rule_has_a_finding() -> None:
    found = lint_manifest(changed({"WORKER restartPolicy": "Always"}))
    assert [finding.rule for finding in found] == ["restart-policy"]


def test_a_document_of_another_kind_has_no_findings() -> None:
    assert lint_manifest({"kind": "Deployment", "spec": {"replicas": "x"}}) == []


def test_a_rule_makes_findings_with_its_name_and_level() -> None:
    def too_loud(subject: int) -> Any:
        yield Found(("volume", subject, "a/b"), f"is {subject}", "turn it down")

    (finding,) = Rule("warning", "It hurts", too_loud).apply(11)
    assert str(finding) == "warning: volume[11]['a/b']: is 11; turn it down [too-loud]"
