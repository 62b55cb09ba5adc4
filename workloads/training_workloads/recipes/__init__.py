"""Complete jobs, named by model and hardware; derive your own with `dataclasses.replace`."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from training_workloads.jobs.kinds import JobSpec
from training_workloads.recipes.digits import digits_p3, digits_p4d, digits_p5, digits_spot
from training_workloads.recipes.nccl import nccl_p3, nccl_p4d, nccl_p5
from training_workloads.recipes.other_jobs import stage_data, tensorboard
from training_workloads.recipes.resnet50 import resnet50_p3, resnet50_p4d, resnet50_p5, resnet50_spot
from training_workloads.validation import MISSING, InputError, Problem, enforce, unknown

__all__ = ["NEEDS", "RECIPES", "recipe"]

#: Every recipe by the name that its job has by default.
RECIPES: dict[str, Callable[..., JobSpec]] = {
    "digits-p3": digits_p3,
    "digits-p4d": digits_p4d,
    "digits-p5": digits_p5,
    "digits-spot": digits_spot,
    "nccl-p3": nccl_p3,
    "nccl-p4d": nccl_p4d,
    "nccl-p5": nccl_p5,
    "resnet50-p3": resnet50_p3,
    "resnet50-p4d": resnet50_p4d,
    "resnet50-p5": resnet50_p5,
    "resnet50-spot": resnet50_spot,
    "stage-data": stage_data,
    "tensorboard": tensorboard,
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
) -> JobSpec:
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
    spec = RECIPES[name](name if job_name is None else job_name, **{field: changes[field] for field in needs})
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
        if field in needed or (not needed and field in _fields(make())):
            having.append(name)
    return f"omit it, or use it with {', '.join(having)}" if having else "omit it"


def _fields(spec: JobSpec) -> set[str]:
    present: Any = spec
    own = {field.name for field in dataclasses.fields(present)}
    return own | {field.name for field in dataclasses.fields(present.scheduling)} if "scheduling" in own else own
