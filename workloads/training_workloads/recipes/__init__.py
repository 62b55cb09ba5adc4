"""Complete jobs, named by model and hardware; derive your own with `dataclasses.replace`, or see `recipe_sources`."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from training_workloads.recipes.built_in import NEEDS, RECIPES, RENAMED
from training_workloads.recipes.recipe_sources import Recipe, built_in_recipes, find_recipes, recipe_names
from training_workloads.validation import MISSING, InputError, Problem, Problems, check, unknown

if TYPE_CHECKING:
    from training_workloads.jobs.kinds import JobSpec

__all__ = ["NEEDS", "RECIPES", "RENAMED", "Recipe", "find_recipes", "known_recipe", "recipe", "recipe_names"]


def recipe(
    name: str,
    job_name: str | None = None,
    *,
    among: Mapping[str, Recipe] | None = None,
    scheduling: Mapping[str, Any] | None = None,
    **changes: Any,
) -> "JobSpec":
    """Return the job of a recipe.

    Args:
        name: Name of the recipe.
        job_name: Name of the job, and so of its output folder. Default: the recipe's name.
        among: Recipes by name, such as those of `find_recipes`. Default: those of this library.
        scheduling: Fields of its `Scheduling` that differ from the recipe's.
        changes: Fields of the job that differ from the recipe's.

    Raises:
        InputError: There is no such recipe, it has a mistake, a field that it needs is missing, or its kind of job does
            not have a field.
    """
    known = built_in_recipes() if among is None else among
    check(known_recipe(name, known))
    needs = known[name].needs
    _raise(
        Problem(path=(field,), given=MISSING, allowed=f"{name} needs it", fix=f"give {what}")
        for field, what in needs.items()
        if field not in changes
    )
    spec: Any = known[name].job(job_name, **{field: changes[field] for field in needs})
    own = {field.name for field in dataclasses.fields(spec)}
    given = {**changes, **({} if "scheduling" in own else scheduling or {})}
    strange = [
        Problem(path=(field,), given=given[field], allowed=f"{name} does not have it", fix=_recipes_with(field))
        for field in sorted(set(given) - own)
    ]
    try:
        made: JobSpec = _changed(spec, scheduling if "scheduling" in own else None, changes, own)
    except InputError as error:
        raise InputError(*strange, *error.problems) from None
    _raise(strange)
    return made


def known_recipe(name: str, known: Iterable[str]) -> Problems:
    """Reject a name that no recipe has, with the closest names, or the new name of a recipe that has another now."""
    new = RENAMED.get(name)
    if new and name not in known:
        yield Problem(path=("recipe",), given=name, allowed="AWS has retired its instance type", fix=f"give {new}")
    else:
        yield from unknown("recipe", name, known)


def _changed(spec: Any, scheduling: Mapping[str, Any] | None, changes: Mapping[str, Any], own: Iterable[str]) -> Any:
    """Return a job with other values of the fields that it has."""
    values = {field: value for field, value in changes.items() if field in own}
    if scheduling:
        values["scheduling"] = dataclasses.replace(spec.scheduling, **scheduling)
    return dataclasses.replace(spec, **values)


def _raise(problems: Iterable[Problem]) -> None:
    if found := tuple(problems):
        raise InputError(*found)


def _recipes_with(field: str) -> str:
    """Return which recipes of this library have a field: another's function may fail."""
    having = [
        each.name
        for each in built_in_recipes().values()
        if field in each.needs or (not each.needs and field in _fields(each.job()))
    ]
    return f"omit it, or use it with {', '.join(having)}" if having else "omit it"


def _fields(spec: "JobSpec") -> set[str]:
    present: Any = spec
    own = {field.name for field in dataclasses.fields(present)}
    return own | {field.name for field in dataclasses.fields(present.scheduling)} if "scheduling" in own else own
