"""Complete jobs, named by model and hardware; derive your own with `dataclasses.replace`."""

import dataclasses
from collections.abc import Iterable, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from training_workloads.validation import MISSING, InputError, Problem, enforce, unknown

if TYPE_CHECKING:
    from training_workloads.jobs.kinds import JobSpec

__all__ = ["NEEDS", "RECIPES", "recipe"]

#: The function of every recipe, by the name that its job has by default; imported when it is used, with cdk8s.
RECIPES = {
    "digits-p3": "training_workloads.recipes.digits:digits_p3",
    "digits-p4d": "training_workloads.recipes.digits:digits_p4d",
    "digits-p5": "training_workloads.recipes.digits:digits_p5",
    "digits-spot": "training_workloads.recipes.digits:digits_spot",
    "nccl-p3": "training_workloads.recipes.nccl:nccl_p3",
    "nccl-p4d": "training_workloads.recipes.nccl:nccl_p4d",
    "nccl-p5": "training_workloads.recipes.nccl:nccl_p5",
    "resnet50-p3": "training_workloads.recipes.resnet50:resnet50_p3",
    "resnet50-p4d": "training_workloads.recipes.resnet50:resnet50_p4d",
    "resnet50-p5": "training_workloads.recipes.resnet50:resnet50_p5",
    "resnet50-spot": "training_workloads.recipes.resnet50:resnet50_spot",
    "stage-data": "training_workloads.recipes.other_jobs:stage_data",
    "tensorboard": "training_workloads.recipes.other_jobs:tensorboard",
}

#: Values that only the user can know, by recipe and field.
NEEDS = {
    "stage-data": {
        "source": "the dataset's folder in S3, such as s3://<bucket>/data/imagenet/",
        "service_account": "the name of one whose pods may read that folder",
    }
}


def recipe(
    name: str, job_name: str | None = None, *, scheduling: Mapping[str, Any] | None = None, **changes: Any
) -> "JobSpec":
    """Return the job of a recipe.

    Args:
        name: Name of the recipe.
        job_name: Name of the job, and so of its output folder. Default: the recipe's name.
        scheduling: Fields of its `Scheduling` that differ from the recipe's.
        changes: Fields of the job that differ from the recipe's.

    Raises:
        InputError: There is no such recipe, a field that it needs is missing, or its kind of job does not have a field.
    """
    enforce(name, (lambda given: unknown("recipe", given, RECIPES),))
    needs = NEEDS.get(name, {})
    _raise(
        Problem(path=(field,), given=MISSING, allowed=f"{name} needs it", fix=f"give {what}")
        for field, what in needs.items()
        if field not in changes
    )
    make = resolve_name(RECIPES[name])
    spec: JobSpec = make(name if job_name is None else job_name, **{field: changes[field] for field in needs})
    known = {field.name for field in dataclasses.fields(spec)}
    given = {**changes, **({} if "scheduling" in known else scheduling or {})}
    _raise(
        Problem(path=(field,), given=given[field], allowed=f"{name} does not have it", fix=_recipes_with(field))
        for field in sorted(set(given) - known)
    )
    if scheduling:
        present: Any = spec
        changes["scheduling"] = dataclasses.replace(present.scheduling, **scheduling)
    return dataclasses.replace(spec, **changes)


def _raise(problems: Iterable[Problem]) -> None:
    if found := tuple(problems):
        raise InputError(*found)


def _recipes_with(field: str) -> str:
    having = []
    for name, make in RECIPES.items():
        needed = NEEDS.get(name, {})
        if field in needed or (not needed and field in _fields(resolve_name(make)())):
            having.append(name)
    return f"omit it, or use it with {', '.join(having)}" if having else "omit it"


def _fields(spec: "JobSpec") -> set[str]:
    present: Any = spec
    own = {field.name for field in dataclasses.fields(present)}
    return own | {field.name for field in dataclasses.fields(present.scheduling)} if "scheduling" in own else own
