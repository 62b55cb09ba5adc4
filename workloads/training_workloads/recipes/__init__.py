"""Complete jobs, named by model and hardware; derive your own with `replaced`, or see `recipe_sources`."""

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
    check(
        Problem(path=(field,), given=MISSING, allowed=f"{name} needs it", fix=f"give {what}")
        for field, what in needs.items()
        if field not in changes
    )
    spec: Any = known[name].job(job_name, **{field: changes[field] for field in needs})
    own = set(type(spec).model_fields)
    scheduled = scheduling if "scheduling" in own else None
    given = {**changes, **({} if scheduled else scheduling or {})}
    strange = [
        Problem(path=(field,), given=given[field], allowed=f"{name} does not have it", fix=_recipes_with(field))
        for field in sorted(set(given) - own)
    ]
    try:
        values = {field: value for field, value in changes.items() if field in own}
        if scheduled:
            values["scheduling"] = spec.scheduling.replaced(**scheduled)
        made: JobSpec = spec.replaced(**values)
    except InputError as error:
        raise InputError(*strange, *error.problems) from None
    check(strange)
    return made


def known_recipe(name: str, known: Iterable[str]) -> Problems:
    """Reject a name that no recipe has, with the closest names, or the new name of a recipe that has another now."""
    new = RENAMED.get(name)
    if new and name not in known:
        yield Problem(path=("recipe",), given=name, allowed="AWS has retired its instance type", fix=f"give {new}")
    else:
        yield from unknown("recipe", name, known)


def _recipes_with(field: str) -> str:
    """Return which recipes of this library have a field: another's function may fail."""
    having = [
        each.name
        for each in built_in_recipes().values()
        if field in each.needs or (not each.needs and field in _fields(each.job()))
    ]
    return f"omit it, or use it with {', '.join(having)}" if having else "omit it"


def _fields(spec: "JobSpec") -> set[str]:
    # Here, because pydantic takes time to import.
    from training_workloads.jobs.scheduling import Scheduling

    own = set(type(spec).model_fields)
    return own | set(Scheduling.model_fields) if "scheduling" in own else own
