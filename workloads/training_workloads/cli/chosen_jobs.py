"""The jobs of a command: recipes or scripts, what its options change in them, and arguments of their program."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
from pydantic.fields import FieldInfo

from training_workloads.cli.parameters import NUMBER, WholeNumber
from training_workloads.images.build_folder import local_name
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images
from training_workloads.jobs.kinds import JobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec
from training_workloads.mpijob.programs import LOCAL_IMAGE, LOCAL_TORCH_IMAGE
from training_workloads.recipes import Recipe, recipe
from training_workloads.recipes.scripts import (
    MPIRUN,
    TORCHRUN,
    chosen_launcher,
    is_script,
    script_job,
    with_arguments,
)
from training_workloads.run_local.argument_check import check_arguments
from training_workloads.spec import field_texts
from training_workloads.validation import InputError, Problem, check

__all__ = ["chosen_jobs", "job_options"]

# A long list hides the answer.
_FEW_SCRIPTS = 10


def job_options(command: Any) -> Any:
    """Give a command an option for each field of a job that a word can state."""
    fields: dict[str, click.Option] = {}
    for spec in (*get_args(JobSpec), Scheduling):
        types, texts = get_type_hints(spec), field_texts(spec)
        for name, field in spec.model_fields.items():
            if name not in fields and name != "name" and (option := _option(name, types[name], field, texts[name])):
                fields[name] = option
    command.params[-1:-1] = fields.values()
    return command


def _option(name: str, type_: Any, field: FieldInfo, text: str) -> click.Option | None:
    """Return the option of a field; None for a field of another type than text, number, flag or choice."""
    plain = get_args(type_)[0] if NoneType in get_args(type_) else type_
    option, choices = f"--{name.replace('_', '-')}", get_args(plain)
    sentence = f"{text.partition('. ')[0].rstrip('.')}."
    words: dict[str, Any] = {"help": re.sub(r" \(https://\S+\)|`", "", sentence)}
    if plain is bool:
        return click.Option([f"{option}/--no-{option[2:]}"], default=None, **words)
    if plain in (int, float):
        sample = field.default if isinstance(field.default, int) else 2
        return click.Option([option], type=WholeNumber(sample) if plain is int else NUMBER, **words)
    if get_origin(plain) is Literal:
        return click.Option([option], metavar="CHOICE", shell_complete=partial(_completed, choices), **words)
    return click.Option([option], **words) if plain is str else None


def _completed(choices: Sequence[str], ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [choice for choice in choices if choice.startswith(incomplete)]


def chosen_jobs(
    names: Sequence[str],
    name: str | None,
    options: Mapping[str, Any],
    *,
    among: Mapping[str, Recipe],
    arguments: Sequence[str] = (),
    launcher: str | None = None,
) -> tuple[list[JobSpec], list[str]]:
    """Return the jobs of recipes and scripts, and notes on their images.

    Args:
        names: Recipes and scripts.
        name: Name of the job, if the user gave one.
        options: Values of the command's job options; None where it was not given.
        among: Every recipe.
        arguments: Further arguments of the program.
        launcher: That of a script.

    Raises:
        InputError: Values are not allowed; every problem of every job.
    """
    given = {field: value for field, value in options.items() if value is not None}
    scheduling = {field: given.pop(field) for field in Scheduling.model_fields.keys() & given.keys()}
    specs: list[JobSpec] = []
    problems = [*_one_job(names, name, arguments, launcher)]
    for each in names:
        job_name = name if len(names) == 1 else None
        try:
            if is_script(each) and each not in among:
                image = _script_image(each, launcher)
                spec = script_job(each, job_name, image, launcher=launcher, scheduling=scheduling, **given)
            elif Path(each).suffix == ".py" and each not in among:
                raise InputError(_missing_script(each))
            else:
                spec = recipe(each, job_name, among=among, scheduling=scheduling, **given)
            specs.append(with_arguments(spec, arguments))
        except InputError as error:
            problems += error.problems
    check(problems)
    if arguments:
        launcher = TORCHRUN if isinstance(specs[0], TorchElasticJobSpec) else MPIRUN
        check_arguments(getattr(specs[0], "command", ()), launcher, arguments)
    pushed = pushed_images()
    specs = [spec.replaced(image=pushed.get(spec.image, spec.image)) for spec in specs]
    return specs, [*_notes(sorted({spec.image for spec in specs}), pushed), *_needed_files(names, specs)]


def _one_job(
    names: Sequence[str], name: str | None, arguments: Sequence[str], launcher: str | None
) -> Iterator[Problem]:
    allowed = f"{len(names)} recipes are rendered"
    for path, given in (("name", name), ("arguments", arguments[0] if arguments else None)):
        if given is not None and len(names) != 1:
            yield Problem(path=(path,), given=given, allowed=allowed, fix="give one recipe")
    if launcher is not None and not any(map(is_script, names)):
        fix = "omit it, or give a Python script"
        yield Problem(path=("launcher",), given=launcher, allowed="only a script takes it", fix=fix)


def _missing_script(name: str) -> Problem:
    others = sorted(str(path) for path in Path(name).parent.glob("*.py"))
    fix = f"give one of {', '.join(others)}" if 0 < len(others) <= _FEW_SCRIPTS else "give a script that exists"
    return Problem(path=("recipe",), given=name, allowed="it does not exist", fix=fix)


def _script_image(script: str, launcher: str | None) -> str:
    """Return the image that `trainctl image build` builds of the current folder."""
    own = local_name(Path())
    return LOCAL_TORCH_IMAGE if own == LOCAL_IMAGE and chosen_launcher(script, launcher) == TORCHRUN else own


def _needed_files(names: Sequence[str], specs: Sequence[JobSpec]) -> Iterator[str]:
    """Yield a note on an image that does not have the script yet: nothing here adds it."""
    for script, spec in zip(names, specs, strict=True):
        # The image of a clone has training/ alone.
        if is_script(script) and not (Path(script).parts[0] == "training" or Path("Dockerfile").is_file()):
            torch = chosen_launcher(script) == TORCHRUN
            base = LOCAL_TORCH_IMAGE if torch else LOCAL_IMAGE
            yield (
                f"the image {spec.image} needs {script} in its working directory: write a Dockerfile with "
                f"'FROM {base}' and 'COPY {script} /workspace/{script}', then 'trainctl image build'"
            )


def _notes(images: Sequence[str], pushed: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on images that only this machine has, and on those that were pushed."""
    for image in images:
        if image.startswith("localhost/"):
            yield f"the image is {image}, which only this machine has; for a cluster give '--image'"
    for image in images:
        if image in pushed.values():
            yield f"the image is {image}, by {PUSHED_IMAGES}"
