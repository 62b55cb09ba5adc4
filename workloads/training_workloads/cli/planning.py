"""`size-lustre` and `mirror-commands`: what is decided before there is a cluster."""

from typing import Annotated

import typer

from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.cli.program import PLANNING, app, option_names
from training_workloads.planning.storage_sizing import size_lustre as sizing_of
from training_workloads.platform.mirror import mirror_commands

__all__ = ["print_mirror_commands", "size_lustre"]


@app.command(rich_help_panel=PLANNING)
def size_lustre(
    images_per_second: Annotated[float, typer.Option(help="What all ranks read together.")],
    bytes_per_image: Annotated[int, typer.Option(help="Average size of a stored image; ImageNet: 110000.")],
    dataset_gib: Annotated[float, typer.Option(help="What must fit into the file system.")] = 0,
    efa: Annotated[bool, typer.Option("--efa", help="For a file system that clients reach with EFA.")] = False,
) -> None:
    """Say which Lustre file system keeps up with a job."""
    with option_names(["images_per_second", "bytes_per_image", "dataset_gib"]):
        sizing = sizing_of(
            images_per_second=images_per_second, bytes_per_image=bytes_per_image, dataset_gib=dataset_gib, efa=efa
        )
    print(sizing)


@app.command(name="mirror-commands", rich_help_panel=PLANNING)
def print_mirror_commands(
    registry: Annotated[str, typer.Argument(help="ECR registry, such as <account>.dkr.ecr.<region>.amazonaws.com.")],
    kubernetes_version: Annotated[str, typer.Option(help="Release of the cluster.")] = KUBERNETES_VERSION,
) -> None:
    """Print what copies charts and images into a registry, for a cluster without NAT."""
    for command in mirror_commands(registry, kubernetes_version):
        print(command)
