"""Complete jobs, named by model and hardware; derive your own with `replaced`, or see `recipe_sources`."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from training_workloads.recipes.built_in import NEEDS, RECIPES, RENAMED
from training_workloads.recipes.recipe_sources import Recipe, built_in_recipes, find_recipes, recipe_names
from training_workloads.validation import MISSING, InputError, Problem, Problems, check, unknown

if TYPE_CHECKING:
    from training_workloads.jobs.kinds import JobSpec

_Made = TypeVar("_Made")

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
        InputError: There is no such recipe, it has a mistake, a field that it needs is missing, its kind of job does
            not have a field, or a value is not allowed.
    """
    known = built_in_recipes() if among is None else among
    check(known_recipe(name, known))
    found = known[name]
    spec, wrong_name = _started(found, job_name, changes)
    own = set(type(spec).model_fields)
    scheduled = scheduling if "scheduling" in own else None
    given = {**changes, **({} if scheduled else scheduling or {})}
    values = {field: value for field, value in changes.items() if field in own}
    wrong_place: Iterable[Problem] = ()
    if scheduled:
        placed, wrong_place = _tried(lambda: spec.scheduling.replaced(**scheduled))
        values |= {"scheduling": placed} if placed else {}
    made: JobSpec | None
    made, wrong = _tried(lambda: spec.replaced(**values))
    check(wrong_name, _strange(name, given, own), wrong_place, wrong)
    assert made is not None
    return made


def _started(found: Recipe, job_name: str | None, changes: Mapping[str, Any]) -> tuple[Any, Iterable[Problem]]:
    """Return the job of a recipe before its changes, and the problems of its name; then it has the recipe's own.

    Raises:
        InputError: A value that the recipe needs is missing or wrong, or the recipe has a mistake.
    """
    missing = [
        Problem(path=(field,), given=MISSING, allowed=f"{found.name} needs it", fix=f"give {what}")
        for field, what in found.needs.items()
        if field not in changes
    ]
    if missing:
        check(missing, _of_the_others(found, job_name, changes))
    needed = {field: changes[field] for field in found.needs}
    spec, wrong = _tried(lambda: found.job(job_name, **needed))
    if spec is None and job_name is not None:
        spec, _ = _tried(lambda: found.job(**needed))
    if spec is None:
        check(wrong, _of_the_others(found, job_name, changes) if found.needs else ())
    return spec, wrong


def _of_the_others(found: Recipe, job_name: str | None, changes: Mapping[str, Any]) -> Problems:
    """Yield the problems of the values of a recipe without those that are missing."""
    kind = get_type_hints(found.load())["return"]
    yield from _strange(found.name, changes, set(kind.model_fields))
    given = {field: value for field, value in changes.items() if field in kind.model_fields}
    _, wrong = _tried(lambda: kind(name=found.name if job_name is None else job_name, **given))
    yield from (problem for problem in wrong if problem.given is not MISSING)


def _strange(name: str, given: Mapping[str, Any], own: set[str]) -> Problems:
    for field in sorted(set(given) - own):
        allowed = f"{name} does not have it"
        # A job that measures the network has nodes, one that trains has workers.
        is_workers = field == "nodes" and "workers" in own
        fix = "give 'workers'" if is_workers else _recipes_with(field)
        yield Problem(path=(field,), given=given[field], allowed=allowed, fix=fix)


def _tried(make: Callable[[], _Made]) -> tuple[_Made | None, tuple[Problem, ...]]:
    """Return the result of a function, or None and the problems that it raises."""
    try:
        return make(), ()
    except InputError as error:
        return None, error.problems


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
