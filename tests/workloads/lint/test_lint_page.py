import re
from pathlib import Path
from typing import Any

from training_workloads.lint.finding import Rule
from training_workloads.lint.rules import FIELD_RULES, JOB_RULES, STORAGE_RULES


def test_the_page_has_every_rule_with_its_level(root: Path) -> None:
    page = (root / "docs/lint.md").read_text()
    rows = re.findall(r"^\| `([-a-z0-9]+)` \| (\w+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    rules: list[Rule[Any]] = [*JOB_RULES, *FIELD_RULES, *STORAGE_RULES]
    assert [(name, level) for name, level, _, _ in rows] == [(rule.id, rule.level) for rule in rules]
    assert all(finds.strip() and why.strip() for _, _, finds, why in rows)
