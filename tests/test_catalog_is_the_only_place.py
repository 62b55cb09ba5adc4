"""Only the catalog, the recipes and the project of `trainctl init` contain instance names and component versions."""

import ast
import re
from pathlib import Path

INSTANCE_NAME = re.compile(r"\b[a-z]+\d+[a-z]*(-[a-z0-9]+)?\.(\d*xlarge|large|medium|metal)\b")
VERSION = re.compile(r"^v?\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$|:v?\d+\.\d+\.\d+")
#: The versions of SARIF and of a build specification are parts of their formats.
FORMATS = {"2.1.0", "0.2"}
ALLOWED = ("training_workloads/catalog/", "training_workloads/recipes/", "training_workloads/project/")


def string_literals(tree: ast.AST) -> list[str]:
    """Return every string except docstrings and the `examples` of a field, which are documentation too."""
    nodes = list(ast.walk(tree))
    documentation = [
        node.body[0]
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    ] + [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "examples"]
    ignored = {id(inner) for node in documentation for inner in ast.walk(node)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored
    ]


def test_only_the_catalog_contains_facts(root: Path) -> None:
    modules = [path for folder in ("workloads", "constructs", "stacks") for path in (root / folder).rglob("*.py")]
    found = {
        f"{path.relative_to(root)}: {text}"
        for path in [*modules, root / "app.py"]
        if not any(allowed in path.as_posix() for allowed in ALLOWED)
        for text in string_literals(ast.parse(path.read_text()))
        if text not in FORMATS and (INSTANCE_NAME.search(text) or VERSION.search(text))
    }
    assert found == set()


def test_the_patterns_match_names_and_versions() -> None:
    assert INSTANCE_NAME.search("p4d.24xlarge")
    assert INSTANCE_NAME.search("p6-b200.48xlarge")
    assert VERSION.search("v0.5.30")
    assert VERSION.search("1.35")
    assert VERSION.search("mpioperator/mpi-operator:0.8.2")


def test_documentation_may_name_them() -> None:
    module = ast.parse('"""Such as p4d.24xlarge."""\nfield = Field(default="1.35", examples=["1.34"])\n')
    assert string_literals(module) == ["1.35"]
