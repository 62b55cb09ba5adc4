"""`render`: from recipes to manifests."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from training_workloads.cli.program import app, option_names
from training_workloads.errors import InputError
from training_workloads.recipes import RECIPES, recipe
from training_workloads.rendering import render_jobs, render_platform

__all__ = ["render"]


@app.command()
def render(
    names: Annotated[list[str] | None, typer.Argument(metavar="[RECIPE]...", help="Default: every recipe.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the job; with one recipe only.")] = None,
    instance_type: Annotated[str | None, typer.Option(help="EC2 type of the workers' nodes.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker pods.")] = None,
    gpus_per_worker: Annotated[int | None, typer.Option(help="GPUs, and so ranks, of each worker.")] = None,
    efa: Annotated[bool | None, typer.Option(help="Whether workers take the type's EFA devices.")] = None,
    image: Annotated[str | None, typer.Option(help="Training image, such as its address in ECR.")] = None,
    namespace: Annotated[str | None, typer.Option(help="Namespace of the job; its claim must be there.")] = None,
    outdir: Annotated[Path, typer.Option(help="Folder of the manifests.", file_okay=False)] = Path("dist"),
) -> None:
    """Write the manifests of recipes, and of the MPI operator, into a folder."""
    chosen = list(dict.fromkeys(names or sorted(RECIPES)))
    if name is not None and len(chosen) != 1:
        raise InputError(f"'--name' is {name!r} but {len(chosen)} recipes are rendered; name one recipe")
    overrides: dict[str, Any] = {
        "instance_type": instance_type,
        "workers": workers,
        "gpus_per_worker": gpus_per_worker,
        "efa": efa,
        "image": image,
        "namespace": namespace,
    }
    with option_names(["name", *overrides]):
        given = {field: value for field, value in overrides.items() if value is not None}
        specs = [dataclasses.replace(recipe(each, name), **given) for each in chosen]
        jobs = render_jobs(specs, outdir)
    for path in (*render_platform(outdir), *jobs):
        print(path)
