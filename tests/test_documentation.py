"""The links of the pages lead to files, and every public name has a page."""

import re
from pathlib import Path

import pytest

import training_cluster

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_public_name_has_its_page() -> None:
    index = (ROOT / "docs/constructs/README.md").read_text()
    # Values that a construct takes or returns are on the construct's page.
    with_a_construct = re.compile(r"\w+(Spec|Estimate)")
    names = [name for name in training_cluster.__all__ if not with_a_construct.fullmatch(name)]
    assert [name for name in names if f"`{name}`" not in index] == []
