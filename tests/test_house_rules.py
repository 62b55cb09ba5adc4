"""House rules on files and functions: each file name once, short modules, short functions."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from setup.source_tree import files, python_files, relative, tree

MODULE_LINES = 450
FUNCTION_LINES = 50

#: Names that Python, pytest, the CDK or a reader expects in several folders.
EXPECTED_NAMES = {
    "README.md",
    "__init__.py",
    "__init__.pyi",
    "__main__.py",
    "app.py",
    "cdk.json",
    "conftest.py",
    "py.typed",
}

#: Folders in which each file is named after the one that it shows or tests.
MIRRORS = (
    # Each example is named after its page, and the page after the construct or job.
    "examples/",
    # A project that `trainctl init` writes has the names that Docker, the CDK and its user expect.
    "workloads/training_workloads/project/",
    # The cases of a lint rule are named after the module of the rule.
    "tests/workloads/lint/cases/",
)

#: A construct, and the manifests that it applies: one concept in both libraries.
IN_BOTH_LIBRARIES = {"lustre_volume.py", "mpi_operator.py"}

#: The parts that each training program may have: a reader of one finds those of the next.
IN_EACH_PROGRAM = {
    f"training/{program}/{part}.py"
    for program in ("resnet50", "mask_rcnn")
    for part in ("evaluation", "model", "recipe", "settings", "training_job")
}

PACKAGES = ("workloads", "constructs", "stacks", "training", "scan", "setup", "benchmarks", "docs", "app.py")


def test_each_file_name_occurs_once() -> None:
    names: dict[str, list[str]] = {}
    for path in files():
        if relative(path).startswith(MIRRORS) or relative(path) in IN_EACH_PROGRAM:
            continue
        if path.name not in EXPECTED_NAMES | IN_BOTH_LIBRARIES:
            names.setdefault(path.name, []).append(relative(path))
    several = [" ".join(found) for found in names.values() if len(found) > 1]
    assert not several, "\n".join(several)


def test_a_name_of_both_libraries_occurs_once_in_each() -> None:
    libraries = [path for path in python_files("workloads", "constructs") if path.name in IN_BOTH_LIBRARIES]
    assert Counter(path.name for path in libraries) == dict.fromkeys(IN_BOTH_LIBRARIES, 2)


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
