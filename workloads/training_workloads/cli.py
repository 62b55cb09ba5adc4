"""The command line: `training-workloads render`, `run-local`, `size-lustre` and `mirror-commands`."""

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.errors import InputError
from training_workloads.local.runner import run_locally
from training_workloads.mirror import mirror_commands
from training_workloads.recipes import RECIPES, recipe
from training_workloads.rendering import render_jobs, render_platform
from training_workloads.storage_sizing import size_lustre as sizing_of

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _program() -> None:
    """Render training jobs into Kubernetes manifests, and run them on this machine."""


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
    with _option_names(["name", *overrides]):
        given = {field: value for field, value in overrides.items() if value is not None}
        specs = [dataclasses.replace(recipe(each, name), **given) for each in chosen]
        jobs = render_jobs(specs, outdir)
    for path in (*render_platform(outdir), *jobs):
        print(path)


@app.command()
def run_local(
    manifest: Annotated[Path, typer.Argument(help="A file with one MPIJob, such as dist/digits-p3.k8s.yaml.")],
    ranks: Annotated[int | None, typer.Option(help="Ranks. Default: as the manifest says.")] = None,
    volumes: Annotated[Path, typer.Option(help="Local folder that stands for the shared file system.")] = Path("."),
    environment: Annotated[Path, typer.Option(help="Virtual environment of the job.")] = Path(".venv-training"),
) -> None:
    """Run a job's manifest on this machine, on the CPU, and return its exit code."""
    raise typer.Exit(run_locally(manifest, volumes=volumes, environment=environment, ranks=ranks))


@app.command()
def size_lustre(
    images_per_second: Annotated[float, typer.Option(help="What all ranks read together.")],
    bytes_per_image: Annotated[int, typer.Option(help="Average size of a stored image; ImageNet: 110000.")],
    dataset_gib: Annotated[float, typer.Option(help="What must fit into the file system.")] = 0,
    efa: Annotated[bool, typer.Option("--efa", help="For a file system that clients reach with EFA.")] = False,
) -> None:
    """Say which Lustre file system keeps up with a job."""
    with _option_names(["images_per_second", "bytes_per_image", "dataset_gib"]):
        sizing = sizing_of(
            images_per_second=images_per_second, bytes_per_image=bytes_per_image, dataset_gib=dataset_gib, efa=efa
        )
    print(sizing)


@app.command(name="mirror-commands")
def print_mirror_commands(
    registry: Annotated[str, typer.Argument(help="ECR registry, such as <account>.dkr.ecr.<region>.amazonaws.com.")],
    kubernetes_version: Annotated[str, typer.Option(help="Release of the cluster.")] = KUBERNETES_VERSION,
) -> None:
    """Print what copies charts and images into a registry, for a cluster without NAT."""
    for command in mirror_commands(registry, kubernetes_version):
        print(command)


def main() -> None:
    """Runs the program; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except InputError as error:
        for mistake in error.args:
            print(f"error: {mistake}", file=sys.stderr)
        sys.exit(2)


@contextmanager
def _option_names(fields: Iterable[str]) -> Iterator[None]:
    """Names the fields in a message as they are typed here: `'--gpus-per-worker'`."""
    try:
        yield
    except InputError as error:
        mistakes = [str(mistake) for mistake in error.args]
        for field in fields:
            option = f"'--{field.replace('_', '-')}'"
            mistakes = [mistake.replace(f"'{field}'", option) for mistake in mistakes]
        raise InputError(*mistakes) from error
