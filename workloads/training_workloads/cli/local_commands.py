"""The commands that render jobs and run them here: `render` and `run-local`."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from training_workloads.cli.command_classes import Command
from training_workloads.cli.completion import complete_recipes
from training_workloads.cli.help_text import JOBS_HERE
from training_workloads.cli.program import app, output_folder
from training_workloads.cli.typed_values import number_option
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images
from training_workloads.recipes import RECIPES, Recipe, find_recipes, recipe
from training_workloads.validation import InputError, Problem, check

# The commands import what they run, so that `--help` and each other command start fast.

__all__ = ["EnvironmentOption", "VolumesOption", "local_folders", "render", "run_local"]

#: Where a local run reads and writes what a job does in the cluster's file system.
VolumesOption = Annotated[
    str, typer.Option(metavar="DIRECTORY", help="Local folder in place of the shared file system.")
]

EnvironmentOption = Annotated[
    str | None,
    typer.Option(metavar="DIRECTORY", help="Virtual environment of the job. Default: .venv-training, or .venv-torch."),
]

_SCHEDULING = "Where and when its pods start"

_RECIPES_HELP = (
    f"A name in recipes.py of this folder, of an installed package, or one of {', '.join(RECIPES)}. Default: those of "
    "recipes.py, else these that need no option."
)


@app.command(cls=Command, rich_help_panel=JOBS_HERE)
def render(
    recipes: Annotated[
        list[str] | None,
        typer.Argument(metavar="RECIPE", help=_RECIPES_HELP, autocompletion=complete_recipes),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the job; with one recipe only.")] = None,
    image: Annotated[str | None, typer.Option(help="Training image, such as its address in ECR.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of the job; its claim must exist there.")] = None,
    service_account: Annotated[str | None, typer.Option(help="Service account of the pods.")] = None,
    instance_type: Annotated[str | None, typer.Option(help="EC2 type of the workers' nodes.")] = None,
    framework: Annotated[
        str | None, typer.Option(help="What the image contains, such as tensorflow-2.15, or other.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="What a torch-… recipe creates: Job, or TrainJob of Kubeflow Trainer.")
    ] = None,
    workers: Annotated[int | None, number_option("Worker pods.")] = None,
    min_workers: Annotated[int | None, number_option("Minimum of an elastic job.")] = None,
    max_workers: Annotated[int | None, number_option("Maximum of an elastic job.")] = None,
    gpus_per_worker: Annotated[int | None, number_option("GPUs, and so ranks, of each worker.")] = None,
    efa: Annotated[bool | None, typer.Option(help="Whether workers use the type's EFA interfaces.")] = None,
    bind_to: Annotated[str | None, typer.Option(help="What ranks are bound to: socket, none.")] = None,
    backoff_limit: Annotated[int | None, number_option("How often the ranks are restarted.")] = None,
    deadline_seconds: Annotated[int | None, number_option("Time after which the job is ended.", 600)] = None,
    nodes: Annotated[int | None, number_option("Nodes of an NCCL test.")] = None,
    collective: Annotated[str | None, typer.Option(help="Collective of an NCCL test: all_reduce, …")] = None,
    efa_interfaces: Annotated[
        int | None, number_option("Number of EFA interfaces of each node. Default: all of the type.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Folder in S3 that stage-data reads.")] = None,
    folder: Annotated[
        str | None, typer.Option(help="Folder in the file system, for stage-data and tensorboard.")
    ] = None,
    file_system: Annotated[str | None, typer.Option(help="File system of stage-data: lustre, efs.")] = None,
    class_folders: Annotated[
        str | None, typer.Option(help="Folder in which stage-data puts ImageNet's images into class folders.")
    ] = None,
    pods: Annotated[int | None, number_option("Pods of stage-data.")] = None,
    gang: Annotated[bool | None, typer.Option(help="Gang scheduling.", rich_help_panel=_SCHEDULING)] = None,
    queue: Annotated[str | None, typer.Option(help="Kueue's LocalQueue.", rich_help_panel=_SCHEDULING)] = None,
    priority_class: Annotated[str | None, typer.Option(help="PriorityClass.", rich_help_panel=_SCHEDULING)] = None,
    spread_over: Annotated[
        str | None, typer.Option(help="Node label, such as kubernetes.io/hostname.", rich_help_panel=_SCHEDULING)
    ] = None,
    colocate_in: Annotated[
        str | None, typer.Option(help="Node label, such as topology.kubernetes.io/zone.", rich_help_panel=_SCHEDULING)
    ] = None,
    capacity_type: Annotated[
        str | None, typer.Option(help="ON_DEMAND, SPOT or CAPACITY_BLOCK.", rich_help_panel=_SCHEDULING)
    ] = None,
    node_group: Annotated[
        str | None, typer.Option(help="Node group of all workers, such as gpu.", rich_help_panel=_SCHEDULING)
    ] = None,
    placement_group: Annotated[
        bool | None,
        typer.Option("--placement-group", help="All workers in one placement group.", rich_help_panel=_SCHEDULING),
    ] = None,
    required_topology: Annotated[
        str | None, typer.Option(help="Level of the queue's topology.", rich_help_panel=_SCHEDULING)
    ] = None,
    preferred_topology: Annotated[
        str | None, typer.Option(help="The same, as a preference.", rich_help_panel=_SCHEDULING)
    ] = None,
    outdir: Annotated[str, typer.Option(metavar="DIRECTORY", help="Folder of the manifests.")] = "dist/jobs",
) -> None:
    """Render recipes into manifests; `platform` renders what they need in a cluster."""
    job = _given(image=image, namespace=namespace, service_account=service_account, framework=framework, kind=kind)
    job |= _given(
        instance_type=instance_type,
        workers=workers,
        min_workers=min_workers,
        max_workers=max_workers,
        gpus_per_worker=gpus_per_worker,
        efa=efa,
        bind_to=bind_to,
        backoff_limit=backoff_limit,
        deadline_seconds=deadline_seconds,
        nodes=nodes,
        collective=collective,
        efa_interfaces=efa_interfaces,
        source=source,
        folder=folder,
        file_system=file_system,
        class_folders=class_folders,
        pods=pods,
    )
    scheduling = _given(
        gang=gang,
        queue=queue,
        priority_class=priority_class,
        spread_over=spread_over,
        colocate_in=colocate_in,
        capacity_type=capacity_type,
        node_group=node_group,
        placement_group=placement_group,
        required_topology=required_topology,
        preferred_topology=preferred_topology,
    )
    _render(recipes or [], name, output_folder(outdir), scheduling=scheduling, **job)


def _render(recipes: list[str], name: str | None, outdir: Path, *, scheduling: dict[str, Any], **job: Any) -> None:
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


@app.command(cls=Command, rich_help_panel=JOBS_HERE)
def run_local(
    file: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A recipe, a manifest or a folder with one job, - for the standard input, or a Python script.",
            autocompletion=complete_recipes,
        ),
    ],
    argument: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENT", help="Arguments of a script, behind a lone --.")
    ] = None,
    ranks: Annotated[
        int | None, number_option("Number of ranks. Default: the job's; 2 for a script or torchrun.")
    ] = None,
    volumes: VolumesOption = ".",
    environment: EnvironmentOption = None,
) -> None:
    """Run a job or a Python script on this machine, on the CPU, and return its exit code."""
    from training_workloads.run_local.runner import run_locally

    folders = local_folders(volumes, environment)
    raise typer.Exit(run_locally(file, **folders, ranks=ranks, arguments=argument or ()))


def local_folders(volumes: str, environment: str | None) -> dict[str, Any]:
    """Return the folders of a local run, by the names of its arguments."""
    # The empty text of an unset variable would be the current folder.
    given = {"volumes": volumes, "environment": environment}
    check(Problem(path=(name,), given=value, fix="give a folder") for name, value in given.items() if value == "")
    return {name: None if value is None else Path(value) for name, value in given.items()}


def _with_pushed_image(spec: Any, pushed: Mapping[str, str]) -> Any:
    """Return a job with its image as it was pushed, if it was."""
    return replace(spec, image=pushed[spec.image]) if spec.image in pushed else spec


def _given(**options: Any) -> dict[str, Any]:
    return {field: value for field, value in options.items() if value is not None}


def _skipped(recipes: list[Recipe]) -> list[str]:
    options = {each.name: " and ".join(f"--{field.replace('_', '-')}" for field in each.needs) for each in recipes}
    return [f"skipped {name}, which needs {needed}" for name, needed in options.items() if needed]
