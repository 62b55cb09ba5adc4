"""The tables of properties in docs/ are those of the fields, and each section of cluster.yaml has one."""

import re
from pathlib import Path
from typing import Any, get_args

from docs.site.property_tables import pages
from training_cluster import ClusterConfig
from training_workloads.spec import Spec


def test_the_tables_are_those_of_the_fields() -> None:
    assert [path.name for path, text in pages().items() if path.read_text() != text] == []


def sections(annotation: Any) -> set[str]:
    """Return the specs in a type, and in their fields."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        inner = (sections(field.annotation) for field in annotation.model_fields.values())
        return {annotation.__name__}.union(*inner)
    return set[str]().union(*map(sections, get_args(annotation)))


def test_each_section_has_a_table(root: Path) -> None:
    page = (root / "docs/configuration.md").read_text()
    assert set(re.findall(r"<!-- properties: [\w.]+\.(\w+) -->", page)) == sections(ClusterConfig)
