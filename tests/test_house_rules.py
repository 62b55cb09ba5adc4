"""House rules on modules and functions: their lines and their complexity."""

import ast
from pathlib import Path

import pytest
from radon.complexity import ComplexityVisitor

from setup.source_tree import python_files, relative, tree

MODULE_LINES = 450
FUNCTION_LINES = 50
COMPLEXITY = 15

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


def complexities(module: ast.Module) -> dict[str, int]:
    """Return the cyclomatic complexity of each function by its name; comprehensions and boolean operators count."""
    found = ComplexityVisitor.from_ast(module)
    functions = [*found.functions, *(method for one in found.classes for method in one.methods)]
    return {f"{one.lineno} {one.fullname}": one.complexity for one in functions}


def test_functions_are_simple() -> None:
    found = {
        f"{relative(path)}:{name}": complexity
        for path in python_files(*PACKAGES)
        for name, complexity in complexities(tree(path)).items()
    }
    assert len(found) > 1000
    complex_ones = [f"{name}: {count}" for name, count in found.items() if count > COMPLEXITY]
    assert not complex_ones, "\n".join(complex_ones)


def test_complexity_counts_comprehensions_and_boolean_operators() -> None:
    source = "class A:\n    def one(self, a): return [b for b in a if b or self]\n"
    assert complexities(ast.parse(source)) == {"2 A.one": 4}


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


def undocumented(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The parameters without a text in a docstring that has the section `Args`; `scope` and `id` are the CDK's."""
    section = (ast.get_docstring(function) or "").partition("Args:\n")[2].partition("\n\n")[0]
    described = {line.partition(":")[0].strip(" *") for line in section.splitlines()} | {"self", "cls", "scope", "id"}
    of = function.args
    given = [*of.posonlyargs, *of.args, *of.kwonlyargs, *filter(None, (of.vararg, of.kwarg))]
    names = [each.arg for each in given if not each.arg.startswith("_")]
    if any("keywords_of" in ast.unparse(each) for each in function.decorator_list):
        names.pop()
    return [name for name in names if section and name not in described]


def test_the_section_args_has_every_parameter() -> None:
    found = {
        f"{relative(path)}: {node.name}": names
        for path in python_files(*PACKAGES)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (names := undocumented(node))
    }
    assert found == {}


def test_finds_a_parameter_without_a_text() -> None:
    source = 'def one(scope, id, a, *, b):\n    """Do it.\n\n    Args:\n        a: The text.\n    """'
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert undocumented(function) == ["b"]


def test_every_folder_of_packages_exists(root: Path) -> None:
    assert [name for name in PACKAGES if not (root / name).exists()] == []


def test_one_helper_gives_every_mpirun_of_a_test_a_separate_folder() -> None:
    # mpirun does not start as root without these variables, so that every other way to start it has them too.
    having = [relative(path) for path in python_files("tests") if "ALLOW_" + "RUN_AS_ROOT" in path.read_text()]
    assert having == ["tests/training/mpirun.py"]
