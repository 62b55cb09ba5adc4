"""`render`: from recipes to manifests."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from training_workloads.cli.program import HERE, app, option_names
from training_workloads.mpijob.programs import LOCAL_IMAGE
from training_workloads.recipes import NEEDS, RECIPES, recipe
from training_workloads.rendering import render_jobs
from training_workloads.validation import InputError

__all__ = ["render"]

_SCHEDULING = "Where and when its pods start"

# Fields that a message may name although their options were not given.
_ALWAYS_NAMED = ("source", "service_account", "workers", "min_workers", "max_workers", "gpus_per_worker")


@app.command(rich_help_panel=HERE)
def render(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RECIPE]...", help=f"{', '.join(RECIPES)}. Default: all that need no option."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the job; with one recipe only.")] = None,
    image: Annotated[str | None, typer.Option(help="Training image, such as its address in ECR.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of the job; its claim must be there.")] = None,
    service_account: Annotated[str | None, typer.Option(help="Service account of the pods.")] = None,
    instance_type: Annotated[str | None, typer.Option(help="EC2 type of the workers' nodes.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker pods.")] = None,
    min_workers: Annotated[int | None, typer.Option(help="Fewest workers of an elastic job.")] = None,
    max_workers: Annotated[int | None, typer.Option(help="Most workers of an elastic job.")] = None,
    gpus_per_worker: Annotated[int | None, typer.Option(help="GPUs, and so ranks, of each worker.")] = None,
    efa: Annotated[bool | None, typer.Option(help="Whether workers take the type's EFA devices.")] = None,
    bind_to: Annotated[str | None, typer.Option(help="What ranks are bound to: socket, none.")] = None,
    backoff_limit: Annotated[int | None, typer.Option(help="How often the launcher is started again.")] = None,
    deadline_seconds: Annotated[int | None, typer.Option(help="When the job is ended.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes of an NCCL test.")] = None,
    collective: Annotated[str | None, typer.Option(help="Collective of an NCCL test: all_reduce, …")] = None,
    efa_interfaces: Annotated[int | None, typer.Option(help="EFA interfaces of an NCCL test: 0, 1, … all.")] = None,
    source: Annotated[str | None, typer.Option(help="Folder in S3 that stage-data reads.")] = None,
    folder: Annotated[str | None, typer.Option(help="Folder of the file system: of stage-data, tensorboard.")] = None,
    file_system: Annotated[str | None, typer.Option(help="File system of stage-data: lustre, efs.")] = None,
    pods: Annotated[int | None, typer.Option(help="Pods of stage-data.")] = None,
    gang: Annotated[bool | None, typer.Option(help="All workers start together.", rich_help_panel=_SCHEDULING)] = None,
    queue: Annotated[str | None, typer.Option(help="Kueue's LocalQueue.", rich_help_panel=_SCHEDULING)] = None,
    priority_class: Annotated[str | None, typer.Option(help="PriorityClass.", rich_help_panel=_SCHEDULING)] = None,
    spread_over: Annotated[
        str | None, typer.Option(help="Node label, as kubernetes.io/hostname.", rich_help_panel=_SCHEDULING)
    ] = None,
    colocate_in: Annotated[
        str | None, typer.Option(help="Node label, as topology.kubernetes.io/zone.", rich_help_panel=_SCHEDULING)
    ] = None,
    capacity_type: Annotated[
        str | None, typer.Option(help="ON_DEMAND, SPOT or CAPACITY_BLOCK.", rich_help_panel=_SCHEDULING)
    ] = None,
    outdir: Annotated[Path, typer.Option(help="Folder of the manifests.", file_okay=False)] = Path("dist/jobs"),
) -> None:
    """Write the manifests of recipes into a folder; `platform` writes what they need in a cluster."""
    job = _given(
        image=image,
        namespace=namespace,
        service_account=service_account,
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
        pods=pods,
    )
    scheduling = _given(
        gang=gang,
        queue=queue,
        priority_class=priority_class,
        spread_over=spread_over,
        colocate_in=colocate_in,
        capacity_type=capacity_type,
    )
    chosen = list(dict.fromkeys(names or (each for each in sorted(RECIPES) if each not in NEEDS)))
    if name is not None and len(chosen) != 1:
        raise InputError(f"'--name' is {name!r} but {len(chosen)} recipes are rendered; name one recipe")
    with option_names(["name", "outdir", *_ALWAYS_NAMED, *job, *scheduling]):
        specs = [recipe(each, name, scheduling=scheduling, **job) for each in chosen]
        paths, warnings = render_jobs(specs, outdir)
    for path in paths:
        print(path)
    if any(spec.image == LOCAL_IMAGE for spec in specs):
        warnings.append(f"the image is {LOCAL_IMAGE}, which only this machine has; for a cluster give '--image'")
    for warning in [*warnings, *([] if names else _left_out())]:
        print(warning, file=sys.stderr)


def _given(**options: Any) -> dict[str, Any]:
    return {field: value for field, value in options.items() if value is not None}


def _left_out() -> list[str]:
    options = {name: " and ".join(f"--{field.replace('_', '-')}" for field in fields) for name, fields in NEEDS.items()}
    return [f"left out {name}, which needs {needed}" for name, needed in options.items()]
