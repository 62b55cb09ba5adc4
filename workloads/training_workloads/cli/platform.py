"""`platform`: what jobs need in a cluster that the CDK stack did not make."""

import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from training_workloads.cli.program import PLANNING, app, option_names
from training_workloads.platform.file_systems import ElasticFileSystem, LustreFileSystem
from training_workloads.platform.mirror import check_mirror
from training_workloads.platform.parts import PARTS, PlatformSpec
from training_workloads.rendering import render_platform
from training_workloads.validation import InputError

__all__ = ["platform"]

_FileSystem = TypeVar("_FileSystem", LustreFileSystem, ElasticFileSystem)

_PARTS_HELP = (
    f"Parts: {', '.join(PARTS)}. Default: all. A cluster with NVIDIA's GPU Operator has the NVIDIA plugin already: "
    "name the other parts."
)


@app.command(rich_help_panel=PLANNING)
def platform(
    parts: Annotated[list[str] | None, typer.Argument(metavar="[PART]...", help=_PARTS_HELP)] = None,
    lustre_file_system_id: Annotated[str | None, typer.Option(help="FSx for Lustre file system, fs-….")] = None,
    lustre_dns_name: Annotated[str | None, typer.Option(help="Its DNS name.")] = None,
    lustre_mount_name: Annotated[str | None, typer.Option(help="Its mount name.")] = None,
    lustre_capacity_gib: Annotated[int | None, typer.Option(help="Its storage capacity.")] = None,
    efs_file_system_id: Annotated[str | None, typer.Option(help="EFS file system, fs-….")] = None,
    efs_access_point_id: Annotated[str | None, typer.Option(help="Its access point, fsap-….")] = None,
    namespace: Annotated[
        str, typer.Option(help="Namespace of the claims, and so of the jobs; it must exist.")
    ] = "default",
    gang_scheduler: Annotated[
        str | None, typer.Option(help="Scheduler of jobs whose workers start together: volcano, or another's name.")
    ] = None,
    mirror: Annotated[str | None, typer.Option(help="ECR registry with copies of the images.")] = None,
    outdir: Annotated[Path, typer.Option(help="Folder of the manifests.", file_okay=False)] = Path("dist"),
) -> None:
    """Write what jobs need in a cluster, for `kubectl apply -f dist/`: operator, device plugins, volumes.

    The device plugins run on nodes with the label nvidia.com/gpu.present=true or vpc.amazonaws.com/efa.present=true.
    The volumes need the CSI driver of their file system.
    """
    if mirror is not None:
        check_mirror("--mirror", mirror)
    lustre = {
        "file_system_id": lustre_file_system_id,
        "dns_name": lustre_dns_name,
        "mount_name": lustre_mount_name,
        "capacity_gib": lustre_capacity_gib,
    }
    efs = {"file_system_id": efs_file_system_id, "access_point_id": efs_access_point_id}
    with option_names(["namespace", "gang_scheduler", "outdir"]):
        spec = PlatformSpec(
            parts=tuple(parts or PARTS),
            lustre=_file_system(LustreFileSystem, "lustre", lustre, "aws fsx describe-file-systems"),
            efs=_file_system(ElasticFileSystem, "efs", efs, "aws efs describe-access-points"),
            namespace=namespace,
            gang_scheduler=gang_scheduler,
            mirror=mirror,
        )
        written, removed = render_platform(spec, outdir)
    for path in removed:
        print(f"removed {path}, which is not among the parts", file=sys.stderr)
    for path in written:
        print(path)


def _file_system(kind: type[_FileSystem], prefix: str, values: dict[str, Any], command: str) -> _FileSystem | None:
    """Makes a file system of its options, of which all are given or none."""
    options = {field: f"--{prefix}-{field.replace('_', '-')}" for field in values}
    missing = [options[field] for field, value in values.items() if value is None]
    if len(missing) == len(values):
        return None
    if missing:
        listed = " and ".join(f"'{option}'" for option in missing)
        raise InputError(
            f"{listed} {'is' if len(missing) == 1 else 'are'} missing; a volume needs {', '.join(options.values())}, "
            f"and '{command}' shows the values"
        )
    try:
        return kind(**values)
    except InputError as error:
        mistakes = [str(mistake) for mistake in error.args]
        for field, option in options.items():
            mistakes = [mistake.replace(f"'{field}'", f"'{option}'") for mistake in mistakes]
        raise InputError(*mistakes) from error
