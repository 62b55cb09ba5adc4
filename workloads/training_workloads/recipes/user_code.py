"""Recipes that this library does not have: a mistake in one is a problem with its place, never a traceback."""

import ast
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, Protocol

from training_workloads.validation import MISSING, InputError, Problem

__all__ = ["InstalledFunction", "RecipesFile", "UserCode", "as_problems", "described"]

_LIBRARY = Path(__file__).parents[1]

_CORRECT = "correct the line"

# Of a file that a completion parses.
_LARGEST = 2**20


class UserCode(Protocol):
    """Where the function of a recipe is, and how its mistakes are shown."""

    def running(self) -> AbstractContextManager[None]:
        """Let the code import what is beside it, while it runs."""

    def raised(self, name: str, error: BaseException) -> Problem:
        """Return the problem of an error that the code raised."""

    def place(self, error: BaseException) -> str:
        """Return where the code gave a value that a rule rejects."""

    def about(self, name: str, function: Any) -> Problem:
        """Return a problem of a recipe's function; the caller adds what is wrong with it."""


@contextmanager
def as_problems(code: UserCode, name: str = "", typed: str | None = None) -> Iterator[None]:
    """Run code of the user; what it prints is not the result of the command, so it goes to standard error.

    `typed` is the job's name on the command line: a problem with it is not one of the code.

    Raises:
        InputError: The code raised an error, or gave a value that a rule rejects.
    """
    try:
        with code.running(), redirect_stdout(sys.stderr):
            yield
    except InputError as error:
        place = code.place(error)
        raise InputError(
            *(
                each if each.source or (each.path == ("name",) and each.given == typed) else replace(each, source=place)
                for each in error.problems
            )
        ) from error
    # A program that ends by itself raises SystemExit, such as one that parses the command line.
    except (Exception, SystemExit) as error:
        raise InputError(code.raised(name, error)) from error


@dataclass(slots=True)
class RecipesFile:
    """The file `recipes.py` of a folder.

    Attributes:
        path: Its path, as messages show it.
    """

    path: Path
    _module: ModuleType | None = field(default=None, init=False)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the file, and later its functions, import what is beside it; nothing else finds that.

        What is installed goes before: a `yaml.py` beside the file would replace the package that this library imports.
        """
        paths, name = list(sys.path), self.path.stem
        another = sys.modules.pop(name, None)
        sys.path.append(str(self.path.parent.absolute()))
        if self._module:
            sys.modules[name] = self._module
        try:
            yield
        finally:
            sys.path[:] = paths
            sys.modules.pop(name, None)
            if another:
                sys.modules[name] = another

    def names(self) -> list[str]:
        """Return the recipes' names as the text of `RECIPES` has them, without running the file; none elsewhere."""
        try:
            # A pipe would wait for its writer, and a link to a device has no end: the shell that asks would hang.
            if not self.path.is_file() or self.path.stat().st_size > _LARGEST:
                return []
            body = ast.parse(self.path.read_bytes()).body
        # Deeply nested text exceeds the parser's memory, or Python's stack.
        except (OSError, SyntaxError, ValueError, MemoryError, RecursionError):
            return []
        values = [each.value for each in body if isinstance(each, ast.Assign | ast.AnnAssign) and _is_recipes(each)]
        keys = [key for value in values if isinstance(value, ast.Dict) for key in value.keys]
        return [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]

    def functions(self) -> dict[str, Any]:
        """Run the file and return the functions by the names of their recipes.

        Raises:
            InputError: The file has a mistake.
        """
        with as_problems(self):
            module = self._run()
        recipes: Any = getattr(module, "RECIPES", MISSING)
        names = list(recipes) if isinstance(recipes, dict) else []
        if not names or not all(isinstance(name, str) for name in names):
            fix = 'give a dictionary of names and functions, such as RECIPES = {"digits": digits}'
            raise InputError(Problem(path=("RECIPES",), given=recipes, fix=fix, source=str(self.path)))
        return {name: recipes[name] for name in names}

    def _run(self) -> Any:
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path.absolute())
        if spec is None or spec.loader is None:
            raise ImportError("it is not Python")
        self._module = sys.modules[self.path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._module)
        return self._module

    def raised(self, name: str, error: BaseException) -> Problem:
        """Return the problem with the line that raised the error, or that Python cannot read."""
        place, line = self._line(error)
        fix = _CORRECT
        if isinstance(error, ImportError):
            fix = f"{_CORRECT}, or install the package into the environment of trainctl"
        return Problem(
            path=(), given=line or _typed("a file"), allowed=f"it raises {described(error)}", fix=fix, source=place
        )

    def place(self, error: BaseException) -> str:
        """Return the file and the line."""
        return self._line(error)[0]

    def about(self, name: str, function: Any) -> Problem:
        """Return a problem with the line of the function's definition."""
        code = getattr(function, "__code__", None)
        place = f"{self._shown(code.co_filename)}:{code.co_firstlineno}" if code else str(self.path)
        given = _typed(function.__name__) if code else function
        return Problem(path=("RECIPES", name), given=given, fix="", source=place)

    def _line(self, error: BaseException) -> tuple[str, str]:
        """Return the place of the user's innermost line in a traceback, and its text."""
        if isinstance(error, SyntaxError) and error.lineno and self._is_of_user(error.filename or ""):
            return f"{self._shown(error.filename or '')}:{error.lineno}", (error.text or "").strip()
        frames = [each for each in extract_tb(error.__traceback__) if self._is_of_user(each.filename)]
        if not frames:
            return str(self.path), ""
        return f"{self._shown(frames[-1].filename)}:{frames[-1].lineno}", frames[-1].line or ""

    def _is_of_user(self, file: str) -> bool:
        # An environment is often in the folder, and in development this library is.
        path = Path(file)
        inside = path.is_relative_to(self.path.parent.absolute())
        return inside and "site-packages" not in path.parts and not path.is_relative_to(_LIBRARY)

    def _shown(self, file: str) -> str:
        folder = self.path.parent.absolute()
        return str(self.path.parent / Path(file).relative_to(folder)) if Path(file).is_relative_to(folder) else file


@dataclass(frozen=True, slots=True)
class InstalledFunction:
    """The function of an entry point.

    Attributes:
        entry_point: The entry point of an installed package.
    """

    entry_point: EntryPoint

    def running(self) -> AbstractContextManager[None]:
        """Change nothing: the package is installed."""
        return nullcontext()

    @property
    def package(self) -> str:
        """The package's name and version."""
        found = self.entry_point.dist
        return f"{found.name} {found.version}" if found else self.entry_point.value

    def raised(self, name: str, error: BaseException) -> Problem:
        """Return the problem with the package."""
        fix = "update or uninstall the package"
        allowed = f"{self.entry_point.value} raises {described(error)}"
        return replace(self.about(name, None), allowed=allowed, fix=fix)

    def place(self, error: BaseException) -> str:
        """Return the package."""
        return self.package

    def about(self, name: str, function: Any) -> Problem:
        """Return a problem with the package of the recipe."""
        return Problem(path=("recipe",), given=name, fix="", source=self.package)


def _is_recipes(assignment: ast.Assign | ast.AnnAssign) -> bool:
    targets = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    return any(isinstance(each, ast.Name) and each.id == "RECIPES" for each in targets)


def _typed(text: str) -> Any:
    # Here, because the names of recipes are needed without YAML, which takes time to import.
    from training_workloads.yaml_lines import Typed

    return Typed(text)


def described(error: BaseException) -> str:
    """Return an error as one line."""
    # The text of a SyntaxError repeats its place.
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    lines = text.strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
