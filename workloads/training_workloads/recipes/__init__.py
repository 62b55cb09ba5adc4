"""Complete jobs, named by model and hardware; derive your own with `dataclasses.replace`."""

from collections.abc import Callable

from training_workloads.errors import unknown_name
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.recipes.digits import digits_p3, digits_p4d

__all__ = ["RECIPES", "recipe"]

#: Every recipe by the name that its job has by default.
RECIPES: dict[str, Callable[[str], HorovodJobSpec]] = {
    "digits-p3": digits_p3,
    "digits-p4d": digits_p4d,
}


def recipe(name: str, job_name: str | None = None) -> HorovodJobSpec:
    """Makes the job of a recipe.

    Args:
        name: Name of the recipe.
        job_name: Name of the job, and so of its output folder. Default: the recipe's name.

    Raises:
        InputError: There is no such recipe; the message gives the closest names.
    """
    if name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    return RECIPES[name](name if job_name is None else job_name)
