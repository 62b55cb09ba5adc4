"""The files of the repository and the imports between its modules, for the site and for tests of their structure."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: A project that `trainctl init` writes: data of the package, not modules of it.
PROJECT = ROOT / "workloads/training_workloads/project"

#: Folders that Python searches for packages, the most specific first.
SOURCE_ROOTS = (ROOT / "constructs", ROOT / "workloads", ROOT)


@cache
def files() -> tuple[Path, ...]:
    """Every file that Git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(sorted(path for name in set(names) if (path := ROOT / name).is_file() and not path.is_symlink()))


def python_files(*folders: str) -> list[Path]:
    """The Python files of some folders or files, or all of them."""
    tops = tuple(ROOT / folder for folder in folders or (".",))
    return [path for path in files() if path.suffix == ".py" and any(path.is_relative_to(top) for top in tops)]


def relative(path: Path) -> str:
    """Return a path as a message shows it."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """Return the name by which Python imports a file."""
    top = next(root for root in SOURCE_ROOTS if path.is_relative_to(root))
    parts = path.relative_to(top).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Every module of the repository by its name."""
    return {module_name(path): path for path in python_files() if not path.is_relative_to(PROJECT)}


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


@cache
def imported_names(path: Path) -> tuple[str, ...]:
    """Return each imported name with its module, also of imports inside functions and for type checks only."""
    return tuple(_imported_names(path))


def _imported_names(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        yield from names_of_import(node, path)


def names_of_import(node: ast.AST, path: Path) -> list[str]:
    """Return each name that a statement of a file imports, with its module; none for another statement."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    module = ".".join([*above, *([node.module] if node.module else [])])
    return [f"{module}.{alias.name}" for alias in node.names]


@cache
def imported_modules(name: str) -> frozenset[str]:
    """Return the modules of the repository that a module imports, without the packages around them."""
    found = {
        each if each in modules() else each.rpartition(".")[0]
        for each in imported_names(modules()[name])
        if each in modules() or each.rpartition(".")[0] in modules()
    }
    return frozenset(found - {name})


def cycles(graph: dict[str, frozenset[str]]) -> list[list[str]]:
    """Return each group of nodes that reach one another."""

    def reachable(start: str) -> set[str]:
        found: set[str] = set()
        open_ = list(graph[start])
        while open_:
            if (node := open_.pop()) not in found:
                found.add(node)
                open_ += graph[node]
        return found

    reach = {node: reachable(node) for node in graph}
    groups = {frozenset(other for other in reach[node] if node in reach[other]) for node in graph}
    return sorted(sorted(group) for group in groups if group)
