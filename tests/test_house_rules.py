"""House rules on files and functions: short modules, short functions."""

import ast
from pathlib import Path

import pytest

from setup.source_tree import python_files, relative, tree

MODULE_LINES = 450
FUNCTION_LINES = 50

PACKAGES = ("workloads", "constructs", "stacks", "training", "scan", "setup", "benchmarks", "docs", "app.py")


def test_modules_are_short() -> None:
    lines = {relative(path): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: count for name, count in lines.items() if count > MODULE_LINES} == {}


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its signature and its docstring."""
    statements = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - statements[0].lineno + 1 if statements else 0


def test_functions_are_short() -> None:
    found = {
        f"{relative(path)}: {node.name}": body_lines(node)
        for path in python_files(*PACKAGES)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(found) > 1000
    long = [f"{name}: {count} lines" for name, count in found.items() if count > FUNCTION_LINES]
    assert not long, "\n".join(long)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('def one(\n    a,\n):\n    """Text\n    text."""\n    b = a\n    return b\n', 2),
        ("def one(): return 1\n", 1),
        ('def one():\n    """Text."""\n', 0),
    ],
)
def test_counts_the_lines_of_a_body(source: str, lines: int) -> None:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert body_lines(function) == lines


def test_every_folder_of_packages_exists(root: Path) -> None:
    assert [name for name in PACKAGES if not (root / name).exists()] == []


def test_one_helper_gives_every_mpirun_of_a_test_a_separate_folder() -> None:
    # mpirun does not start as root without these variables, so that every other way to start it has them too.
    having = [relative(path) for path in python_files("tests") if "ALLOW_" + "RUN_AS_ROOT" in path.read_text()]
    assert having == ["tests/training/mpirun.py"]
