"""The commands that render jobs and run them here: `render` and `run-local`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
from pydantic.fields import FieldInfo

from training_workloads.cli.commands import Command
from training_workloads.cli.completion import complete_recipes
from training_workloads.cli.parameters import (
    NUMBER,
    WHOLE_NUMBER,
    WholeNumber,
    environment_option,
    open_network_option,
    volumes_option,
)
from training_workloads.cli.program import output_folder
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images
from training_workloads.jobs.kinds import JobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.recipes import RECIPES, Recipe, find_recipes, recipe
from training_workloads.run_local.runner import run_locally
from training_workloads.spec import field_texts
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem, check

__all__ = ["local_folders", "render", "run_local"]

_RECIPES_HELP = (
    f"A name in recipes.py of this folder, of an installed package, or one of {', '.join(RECIPES)}. Default: those of "
    "recipes.py, else these that need no option."
)


def _job_options(command: Any) -> Any:
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


@_job_options
@click.command(cls=Command)
@click.argument("recipes", metavar="[RECIPE]...", nargs=-1, help=_RECIPES_HELP, shell_complete=complete_recipes)
@click.option("--name", help="Name of the job; with one recipe only.")
@click.option("--outdir", metavar="DIRECTORY", default="dist/jobs", help="Folder of the manifests.")
def render(recipes: tuple[str, ...], name: str | None, outdir: str, **options: Any) -> None:
    """Render recipes into manifests; `platform` renders what they need in a cluster."""
    given = {field: value for field, value in options.items() if value is not None}
    scheduling = {field: given.pop(field) for field in Scheduling.model_fields.keys() & given.keys()}
    folder, found, pushed = output_folder(outdir), find_recipes(), pushed_images()
    default = [] if recipes else _default_recipes(found)
    chosen = list(dict.fromkeys(recipes)) or [each.name for each in default if not each.needs]
    specs = [
        spec.replaced(image=pushed.get(spec.image, spec.image))
        for spec in _specs(chosen, name, among=found, scheduling=scheduling, **given)
    ]
    # Here, because it starts Node.js.
    from training_workloads.rendering import render_jobs

    paths, warnings = render_jobs(specs, folder)
    for path in paths:
        say(str(path))
    for warning in [*warnings, *_notes(sorted({spec.image for spec in specs}), pushed), *_skipped(default)]:
        say(warning, error=True)


def _specs(recipes: Sequence[str], name: str | None, **given: Any) -> list[Any]:
    """Return the jobs of recipes.

    Raises:
        InputError: Values are not allowed; every problem of every recipe.
    """
    specs, problems = [], []
    if name is not None and len(recipes) != 1:
        allowed = f"{len(recipes)} recipes are rendered"
        problems.append(Problem(path=("name",), given=name, allowed=allowed, fix="give one recipe"))
        name = None
    for each in recipes:
        try:
            specs.append(recipe(each, name, **given))
        except InputError as error:
            problems += error.problems
    check(problems)
    return specs


def _default_recipes(found: Mapping[str, Recipe]) -> list[Recipe]:
    """Return the recipes that `render` renders without a name."""
    own = [each for _, each in sorted(found.items()) if each.origin == "folder"]
    # A package may have a recipe with the name of one of the library.
    return own or [found[each] for each in sorted(RECIPES)]


def _notes(images: Sequence[str], pushed: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on images that only this machine has, and on those that were pushed."""
    for image in images:
        if image.startswith("localhost/"):
            yield f"the image is {image}, which only this machine has; for a cluster give '--image'"
    for image in images:
        if image in pushed.values():
            yield f"the image is {image}, by {PUSHED_IMAGES}"


def _skipped(recipes: Iterable[Recipe]) -> Iterator[str]:
    for each in recipes:
        if each.needs:
            options = " and ".join(f"--{field.replace('_', '-')}" for field in each.needs)
            yield f"skipped {each.name}, which needs {options}"


@click.command(cls=Command)
@click.argument(
    "file",
    metavar="JOB",
    help="A recipe, a manifest or a folder with one job, - for the standard input, or a Python script.",
    shell_complete=complete_recipes,
)
@click.argument("argument", nargs=-1, help="Arguments of a script, behind a lone --.")
@click.option("--ranks", type=WHOLE_NUMBER, help="Number of ranks. Default: the job's; 2 for a script or torchrun.")
@open_network_option
@volumes_option
@environment_option
def run_local(
    file: str,
    argument: tuple[str, ...],
    ranks: int | None,
    open_network: bool,
    volumes: str,
    environment: str | None,
) -> None:
    """Run a job or a Python script on this machine, on the CPU, and return its exit code."""
    folders = local_folders(volumes, environment)
    raise click.exceptions.Exit(
        run_locally(file, **folders, ranks=ranks, arguments=argument, open_network=open_network)
    )


def local_folders(volumes: str, environment: str | None) -> dict[str, Any]:
    """Return the folders of a local run, by the names of its arguments."""
    # The empty text of an unset variable would be the current folder.
    given = {"volumes": volumes, "environment": environment}
    check(Problem(path=(name,), given=value, fix="give a folder") for name, value in given.items() if value == "")
    return {name: None if value is None else Path(value) for name, value in given.items()}
