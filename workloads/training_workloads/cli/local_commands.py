"""The commands that render jobs and run them here: `render` and `run-local`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from training_workloads.cli.chosen_jobs import chosen_jobs, job_options
from training_workloads.cli.commands import Command, ProgramCommand
from training_workloads.cli.completion import complete_recipes
from training_workloads.cli.parameters import (
    WHOLE_NUMBER,
    environment_option,
    launcher_option,
    open_network_option,
    volumes_option,
)
from training_workloads.cli.program import output_folder
from training_workloads.recipes import RECIPES, Recipe, find_recipes
from training_workloads.recipes.cluster_fit import CLUSTER_FILE, NodeGroup, misfit, node_groups
from training_workloads.run_local.runner import run_locally
from training_workloads.terminal import say
from training_workloads.validation import Problem, check

__all__ = ["local_folders", "render", "run_local"]

_RECIPES_HELP = (
    "A Python script, a name in recipes.py of this folder or of an installed package, or one of "
    f"{', '.join(RECIPES)}. Default: those of recipes.py, else these that need no option."
)


@job_options
@click.command(cls=ProgramCommand)
@click.argument("recipes", metavar="[RECIPE]...", nargs=-1, help=_RECIPES_HELP, shell_complete=complete_recipes)
@click.option("--name", help="Name of the job; with one recipe only.")
@launcher_option
@click.option("--outdir", metavar="DIRECTORY", default="dist/jobs", help="Folder of the manifests.")
def render(
    recipes: tuple[str, ...],
    name: str | None,
    launcher: str | None,
    outdir: str,
    arguments: tuple[str, ...],
    **options: Any,
) -> None:
    """Render recipes and scripts into manifests; `platform` renders what they need in a cluster."""
    folder, found = output_folder(outdir), find_recipes()
    default, groups = [] if recipes else _default_recipes(found), node_groups()
    without_nodes = [each.name for each in default if each.origin == "library" and _has_no_nodes(each, groups)]
    chosen = list(dict.fromkeys(recipes)) or [
        each.name for each in default if not each.needs and each.name not in without_nodes
    ]
    specs, notes = chosen_jobs(chosen, name, options, among=found, arguments=arguments, launcher=launcher)
    # Here, because it starts Node.js.
    from training_workloads.rendering import render_jobs

    paths, warnings = render_jobs(specs, folder)
    for path in paths:
        say(str(path))
    misfits = [f"{spec.name}: {why}" for spec in specs if (why := misfit(spec, groups))]
    for warning in [*warnings, *misfits, *notes, *_skipped(default)]:
        say(warning, error=True)
    if without_nodes:
        count = f"{len(without_nodes)} recipes, for which {CLUSTER_FILE} has no nodes"
        say(f"skipped {count} ({', '.join(without_nodes)}); name one to render it", error=True)


def _default_recipes(found: Mapping[str, Recipe]) -> list[Recipe]:
    """Return the recipes that `render` renders without a name."""
    own = [each for _, each in sorted(found.items()) if each.origin == "folder"]
    # A package may have a recipe with the name of one of the library.
    return own or [found[each] for each in sorted(RECIPES)]


def _has_no_nodes(each: Recipe, groups: Sequence[NodeGroup]) -> bool:
    return bool(groups) and not each.needs and misfit(each.job(), groups) is not None


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
@click.argument("argument", nargs=-1, help="Arguments of the program, behind a lone --.")
@click.option("--ranks", type=WHOLE_NUMBER, help="Number of ranks. Default: the job's; 2 for a script or torchrun.")
@launcher_option
@open_network_option
@volumes_option
@environment_option
def run_local(
    file: str,
    argument: tuple[str, ...],
    ranks: int | None,
    launcher: str | None,
    open_network: bool,
    volumes: str,
    environment: str | None,
) -> None:
    """Run a job or a Python script on this machine, on the CPU, and return its exit code."""
    folders = local_folders(volumes, environment)
    raise click.exceptions.Exit(
        run_locally(file, **folders, ranks=ranks, arguments=argument, launcher=launcher, open_network=open_network)
    )


def local_folders(volumes: str, environment: str | None) -> dict[str, Any]:
    """Return the folders of a local run, by the names of its arguments."""
    # The empty text of an unset variable would be the current folder.
    given = {"volumes": volumes, "environment": environment}
    check(Problem(path=(name,), given=value, fix="give a folder") for name, value in given.items() if value == "")
    return {name: None if value is None else Path(value) for name, value in given.items()}
