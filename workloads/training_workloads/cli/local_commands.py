"""The commands that render jobs and run them here: `render` and `run-local`."""

import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import click

from training_workloads.cli.commands import Command
from training_workloads.cli.completion import complete_recipes
from training_workloads.cli.parameters import WHOLE_NUMBER, WholeNumber, environment_option, volumes_option
from training_workloads.cli.program import output_folder
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.recipes import RECIPES, Recipe, find_recipes, recipe
from training_workloads.run_local.runner import run_locally
from training_workloads.validation import InputError, Problem, check

__all__ = ["local_folders", "render", "run_local"]

_SCHEDULING: Final = {each.name for each in fields(Scheduling)}

_RECIPES_HELP = (
    f"A name in recipes.py of this folder, of an installed package, or one of {', '.join(RECIPES)}. Default: those of "
    "recipes.py, else these that need no option."
)


@click.command(cls=Command)
@click.argument("recipes", metavar="[RECIPE]...", nargs=-1, help=_RECIPES_HELP, shell_complete=complete_recipes)
@click.option("--name", help="Name of the job; with one recipe only.")
@click.option("--image", help="Training image, such as its address in ECR.")
@click.option("--namespace", help="Namespace of the job; its claim must exist there.")
@click.option("--service-account", help="Service account of the pods.")
@click.option("--instance-type", help="EC2 type of the workers' nodes.")
@click.option("--framework", help="What the image contains, such as tensorflow-2.15, or other.")
@click.option("--kind", help="What a torch-… recipe creates: Job, or TrainJob of Kubeflow Trainer.")
@click.option("--workers", type=WHOLE_NUMBER, help="Worker pods.")
@click.option("--min-workers", type=WHOLE_NUMBER, help="Minimum of an elastic job.")
@click.option("--max-workers", type=WHOLE_NUMBER, help="Maximum of an elastic job.")
@click.option("--gpus-per-worker", type=WHOLE_NUMBER, help="GPUs, and so ranks, of each worker.")
@click.option("--efa/--no-efa", default=None, help="Whether workers use the type's EFA interfaces.")
@click.option("--bind-to", help="What ranks are bound to: socket, none.")
@click.option("--backoff-limit", type=WHOLE_NUMBER, help="How often the ranks are restarted.")
@click.option("--deadline-seconds", type=WholeNumber(600), help="Time after which the job is ended.")
@click.option("--nodes", type=WHOLE_NUMBER, help="Nodes of an NCCL test.")
@click.option("--collective", help="Collective of an NCCL test: all_reduce, …")
@click.option(
    "--efa-interfaces", type=WHOLE_NUMBER, help="Number of EFA interfaces of each node. Default: all of the type."
)
@click.option("--source", help="Folder in S3 that stage-data reads.")
@click.option("--folder", help="Folder in the file system, for stage-data and tensorboard.")
@click.option("--file-system", help="File system of stage-data: lustre, efs.")
@click.option("--class-folders", help="Folder in which stage-data puts ImageNet's images into class folders.")
@click.option("--pods", type=WHOLE_NUMBER, help="Pods of stage-data.")
@click.option("--gang/--no-gang", default=None, help="Gang scheduling.")
@click.option("--queue", help="Kueue's LocalQueue.")
@click.option("--priority-class", help="PriorityClass of the pods.")
@click.option("--spread-over", help="Node label over whose values workers spread, such as kubernetes.io/hostname.")
@click.option("--colocate-in", help="Node label with one value for all workers, such as topology.kubernetes.io/zone.")
@click.option("--capacity-type", help="Capacity of the workers' nodes: ON_DEMAND, SPOT or CAPACITY_BLOCK.")
@click.option("--node-group", help="Node group of all workers, such as gpu.")
@click.option("--placement-group", is_flag=True, default=None, help="All workers in one placement group.")
@click.option("--required-topology", help="Level of the queue's topology.")
@click.option("--preferred-topology", help="The same, as a preference.")
@click.option("--outdir", metavar="DIRECTORY", default="dist/jobs", help="Folder of the manifests.")
def render(recipes: tuple[str, ...], name: str | None, outdir: str, **options: Any) -> None:
    """Render recipes into manifests; `platform` renders what they need in a cluster."""
    given = {field: value for field, value in options.items() if value is not None}
    scheduling = {field: given.pop(field) for field in _SCHEDULING & given.keys()}
    _render(recipes, name, output_folder(outdir), scheduling=scheduling, **given)


def _render(
    recipes: tuple[str, ...], name: str | None, outdir: Path, *, scheduling: dict[str, Any], **job: Any
) -> None:
    found = find_recipes()
    own = [each for _, each in sorted(found.items()) if each.origin == "folder"]
    # A package may have a recipe with the name of one of the library.
    default = own or [found[each] for each in sorted(RECIPES)]
    chosen = list(dict.fromkeys(recipes or (each.name for each in default if not each.needs)))
    if name is not None and len(chosen) != 1:
        allowed = f"{len(chosen)} recipes are rendered"
        raise InputError(Problem(path=("name",), given=name, allowed=allowed, fix="give one recipe"))
    pushed = pushed_images()
    specs = [
        _with_pushed_image(recipe(each, name, among=found, scheduling=scheduling, **job), pushed) for each in chosen
    ]
    # Here, because it starts Node.js.
    from training_workloads.rendering import render_jobs

    paths, warnings = render_jobs(specs, outdir)
    for path in paths:
        print(path)
    for image in sorted({spec.image for spec in specs if spec.image.startswith("localhost/")}):
        warnings.append(f"the image is {image}, which only this machine has; for a cluster give '--image'")
    for image in sorted({spec.image for spec in specs if spec.image in pushed.values()}):
        warnings.append(f"the image is {image}, by {PUSHED_IMAGES}")
    for warning in [*warnings, *([] if recipes else _skipped(default))]:
        print(warning, file=sys.stderr)


@click.command(cls=Command)
@click.argument(
    "file",
    metavar="JOB",
    help="A recipe, a manifest or a folder with one job, - for the standard input, or a Python script.",
    shell_complete=complete_recipes,
)
@click.argument("argument", nargs=-1, help="Arguments of a script, behind a lone --.")
@click.option("--ranks", type=WHOLE_NUMBER, help="Number of ranks. Default: the job's; 2 for a script or torchrun.")
@volumes_option
@environment_option
def run_local(file: str, argument: tuple[str, ...], ranks: int | None, volumes: str, environment: str | None) -> None:
    """Run a job or a Python script on this machine, on the CPU, and return its exit code."""
    folders = local_folders(volumes, environment)
    raise click.exceptions.Exit(run_locally(file, **folders, ranks=ranks, arguments=argument))


def local_folders(volumes: str, environment: str | None) -> dict[str, Any]:
    """Return the folders of a local run, by the names of its arguments."""
    # The empty text of an unset variable would be the current folder.
    given = {"volumes": volumes, "environment": environment}
    check(Problem(path=(name,), given=value, fix="give a folder") for name, value in given.items() if value == "")
    return {name: None if value is None else Path(value) for name, value in given.items()}


def _with_pushed_image(spec: Any, pushed: Mapping[str, str]) -> Any:
    """Return a job with its image as it was pushed, if it was."""
    return replace(spec, image=pushed[spec.image]) if spec.image in pushed else spec


def _skipped(recipes: list[Recipe]) -> list[str]:
    options = {each.name: " and ".join(f"--{field.replace('_', '-')}" for field in each.needs) for each in recipes}
    return [f"skipped {name}, which needs {needed}" for name, needed in options.items() if needed]
