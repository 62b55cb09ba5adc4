"""`run-local`: a job's manifest on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from training_workloads.cli.program import HERE, app
from training_workloads.run_local.runner import run_locally

__all__ = ["run_local"]


@app.command(rich_help_panel=HERE)
def run_local(
    manifest: Annotated[Path, typer.Argument(help="A file with one MPIJob, such as dist/jobs/digits-p3.k8s.yaml.")],
    ranks: Annotated[int | None, typer.Option(help="Ranks. Default: as the manifest says.")] = None,
    volumes: Annotated[Path, typer.Option(help="Local folder that stands for the shared file system.")] = Path("."),
    environment: Annotated[Path, typer.Option(help="Virtual environment of the job.")] = Path(".venv-training"),
) -> None:
    """Run a job's manifest on this machine, on the CPU, and return its exit code."""
    raise typer.Exit(run_locally(manifest, volumes=volumes, environment=environment, ranks=ranks))
