"""Where recipes come from: `recipes.py` of a folder, installed packages, this library; the first with a name has it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import entry_points
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, get_args

from training_workloads.recipes.built_in import NEEDS, RECIPES
from training_workloads.recipes.user_code import InstalledFunction, RecipesFile, UserCode, as_problems
from training_workloads.validation import Problem, Problems, check, shown

if TYPE_CHECKING:
    from training_workloads.jobs.kinds import JobSpec

__all__ = ["Recipe", "built_in_recipes", "find_recipes", "recipe_names"]

_FILE = "recipes.py"
_ENTRY_POINTS = "trainctl.recipes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """A recipe, whose function is imported when it is used.

    Attributes:
        name: Its name.
        origin: Whether it is in `recipes.py` of the folder, in an installed package, or in this library.
        load: Imports and returns the function, which takes the job's name and returns its spec.
        code: Where the function is. Default: in this library.
        needs: Values that only the user knows, by field. Default: none.
    """

    name: str
    origin: Literal["folder", "package", "library"]
    load: Callable[[], Any]
    code: UserCode | None = None
    needs: Mapping[str, str] = field(default_factory=dict)

    def job(self, job_name: str | None = None, **needed: Any) -> "JobSpec":
        """Return the job.

        Args:
            job_name: Its name, if the user gave one. Default: that of the recipe.
            needed: A value for each field of `needs`.

        Raises:
            InputError: The recipe has a mistake.
        """
        name = self.name if job_name is None else job_name
        if self.code is None:
            spec: JobSpec = self.load()(name, **needed)
            return spec
        with as_problems(self.code, self.name):
            function = self.load()
        check(self._takes_a_name(self.code, function))
        with as_problems(self.code, self.name, job_name):
            made = function(name)
        check(self._returns_the_job(self.code, function, made, name))
        spec = made
        return spec

    def _takes_a_name(self, code: UserCode, function: Any) -> Problems:
        problem = replace(code.about(self.name, function), fix="define it as def …(name: str) and return the job")
        if not callable(function):
            yield replace(problem, allowed="a recipe is a function")
            return
        try:
            signature(function).bind(self.name)
        except TypeError as error:
            yield replace(problem, allowed=f"it must take the job's name alone: {error}")

    def _returns_the_job(self, code: UserCode, function: Any, made: Any, name: str) -> Problems:
        # Here, because it starts Node.js.
        from training_workloads.jobs.kinds import JobSpec

        problem = replace(code.about(self.name, function), fix="return a job, such as HorovodJobSpec(name=name, …)")
        if type(made) not in get_args(JobSpec):
            yield replace(problem, allowed=f"it returns {shown(made)}")
        elif made.name != name:
            yield replace(problem, allowed=f"for the name '{name}' it returns a job with the name '{made.name}'")


def built_in_recipes() -> dict[str, Recipe]:
    """Return the recipes of this library by name."""
    return {
        name: Recipe(name=name, origin="library", load=partial(resolve_name, function), needs=NEEDS.get(name, {}))
        for name, function in RECIPES.items()
    }


def find_recipes(folder: Path = Path()) -> dict[str, Recipe]:
    """Return every recipe by name.

    Args:
        folder: Where `recipes.py` is, which is run. Default: the current folder.

    Raises:
        InputError: `recipes.py` has a mistake.
    """
    return {**_without_a_file(), **_in_file(folder / _FILE)}


def recipe_names(folder: Path = Path()) -> list[str]:
    """Return the names of all recipes for a completion, which runs nothing of a folder that the user has cloned."""
    return sorted({*_without_a_file(), *RecipesFile(folder / _FILE).names()})


def _without_a_file() -> dict[str, Recipe]:
    return {**built_in_recipes(), **_installed()}


def _installed() -> dict[str, Recipe]:
    # Of two packages with one name Python would import the first.
    return {
        each.name: Recipe(name=each.name, origin="package", load=each.load, code=InstalledFunction(each))
        for each in reversed(entry_points(group=_ENTRY_POINTS))
    }


def _in_file(path: Path) -> dict[str, Recipe]:
    if not path.is_file():
        check(_is_absent(path))
        return {}
    file = RecipesFile(path)
    return {
        name: Recipe(name=name, origin="folder", load=partial(_value, function), code=file)
        for name, function in file.functions().items()
    }


def _is_absent(path: Path) -> Problems:
    if path.is_dir() or path.is_symlink():
        what = (
            "a folder" if path.is_dir() else "a link to a file that does not exist" if path.is_symlink() else "no file"
        )
        allowed = f"it is {what}, and recipes are in a file of that name"
        yield Problem(path=("recipes",), given=str(path), allowed=allowed, fix="rename or remove it")


def _value(value: Any) -> Any:
    return value
