"""The group `platform`: what jobs need in a cluster, and how large it must be."""

from collections.abc import Iterator
from typing import Any, TypeVar

import click

from training_workloads.catalog.versions import KUBERNETES_VERSION
from training_workloads.cli.commands import Group
from training_workloads.cli.parameters import NUMBER, WHOLE_NUMBER
from training_workloads.cli.program import output_folder
from training_workloads.planning.storage_sizing import size_lustre as sizing_of
from training_workloads.platform.file_systems import EfsAttributes, LustreAttributes
from training_workloads.platform.mirror import ecr_registry, mirror_commands
from training_workloads.platform.platform_spec import PARTS, PlatformSpec
from training_workloads.terminal import say
from training_workloads.validation import MISSING, InputError, Problem, enforce

__all__ = ["app", "print_mirror_commands", "render", "size_lustre"]

app = Group("platform", help="Render and size what jobs need in a cluster.")

_FileSystem = TypeVar("_FileSystem", LustreAttributes, EfsAttributes)

_PARTS_HELP = (
    f"Parts: {', '.join(PARTS)}. Default: all. A cluster with NVIDIA's GPU Operator already has the NVIDIA plugin: "
    "give the other parts."
)


@app.command()
@click.argument("parts", metavar="[PART]...", nargs=-1, help=_PARTS_HELP)
@click.option("--lustre-file-system-id", help="FSx for Lustre file system, fs-….")
@click.option("--lustre-dns-name", help="Its DNS name.")
@click.option("--lustre-mount-name", help="Its mount name.")
@click.option("--lustre-capacity-gib", type=WHOLE_NUMBER, help="Its storage capacity.")
@click.option("--efs-file-system-id", help="EFS file system, fs-….")
@click.option("--efs-access-point-id", help="Its access point, fsap-….")
@click.option("--namespace", default="default", help="Namespace of the claims, and so of the jobs; it must exist.")
@click.option("--gang-scheduler", help="Gang scheduler: volcano, or the name of another.")
@click.option("--mirror", help="ECR registry with copies of the images.")
@click.option("--outdir", metavar="DIRECTORY", default="dist/platform", help="Folder of the manifests.")
def render(
    parts: tuple[str, ...],
    namespace: str,
    gang_scheduler: str | None,
    mirror: str | None,
    outdir: str,
    **file_systems: Any,
) -> None:
    """Write manifests of what jobs need in a cluster: operator, device plugins, volumes.

    Apply them with `kubectl apply -f dist/platform/`.

    The device plugins run on nodes with the label nvidia.com/gpu.present=true or vpc.amazonaws.com/efa.present=true.
    The volumes need the CSI driver of their file system.
    """
    if mirror is not None:
        enforce(mirror, (lambda given: ecr_registry("mirror", given),))
    spec = PlatformSpec(
        parts=parts or tuple(PARTS),
        lustre=_file_system(LustreAttributes, "lustre", file_systems, "aws fsx describe-file-systems"),
        efs=_file_system(EfsAttributes, "efs", file_systems, "aws efs describe-access-points"),
        namespace=namespace,
        gang_scheduler=gang_scheduler,
        mirror=mirror,
    )
    # Here, because it starts Node.js.
    from training_workloads.rendering import render_platform

    written, removed = render_platform(spec, output_folder(outdir))
    for path in removed:
        say(f"removed {path}, which is not among the parts", error=True)
    for path in written:
        say(str(path))


@app.command()
@click.option("--images-per-second", type=NUMBER, required=True, help="Images that all ranks read together.")
@click.option(
    "--bytes-per-image", type=WHOLE_NUMBER, required=True, help="Average size of a stored image; ImageNet: 110000."
)
@click.option("--dataset-gib", type=NUMBER, default=0, help="Data that the file system must hold.")
@click.option("--efa", is_flag=True, help="For a file system that clients mount over EFA.")
def size_lustre(**needs: Any) -> None:
    """Print the smallest Lustre file system that is fast enough for a job."""
    say(str(sizing_of(**needs)))


@app.command("mirror-commands")
@click.argument("mirror", metavar="REGISTRY", help="ECR registry: <account>.dkr.ecr.<region>.amazonaws.com.")
@click.option("--kubernetes-version", default=KUBERNETES_VERSION, help="Release of the cluster.")
def print_mirror_commands(mirror: str, kubernetes_version: str) -> None:
    """Print the commands that copy charts and images into a registry, for a cluster without NAT."""
    say(*mirror_commands(mirror, kubernetes_version))


def _file_system(kind: type[_FileSystem], prefix: str, options: dict[str, Any], command: str) -> _FileSystem | None:
    """Return the file system of some options, of which all are given or none."""
    values = {field: options[f"{prefix}_{field}"] for field in kind.__dataclass_fields__}
    if all(value is None for value in values.values()):
        return None
    if missing := list(_missing(prefix, values, command)):
        raise InputError(*missing)
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(*(problem.under(prefix) for problem in error.problems)) from error


def _missing(prefix: str, values: dict[str, Any], command: str) -> Iterator[Problem]:
    options = ", ".join(f"--{prefix}-{field.replace('_', '-')}" for field in values)
    for field, value in values.items():
        if value is None:
            allowed, fix = f"a volume needs {options}", f"run '{command}' for its value"
            yield Problem(path=(prefix, field), given=MISSING, allowed=allowed, fix=fix)
