"""The parts of the platform for a cluster that the CDK stack did not create, and their files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import cdk8s

from training_workloads.platform.efa_device_plugin import EfaDevicePluginChart
from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.platform.file_systems import EfsAttributes, LustreAttributes
from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.platform.nvidia_device_plugin import NvidiaDevicePluginChart
from training_workloads.validation import Problems, enforce, unknown

__all__ = ["PARTS", "PLATFORM_FILES", "PlatformSpec", "add_platform"]

_SUFFIX = ".k8s.yaml"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformSpec:
    """What a cluster gets.

    Attributes:
        parts: Names of parts. Default: all. On a cluster with NVIDIA's GPU Operator leave `nvidia-device-plugin` out.
        lustre: Lustre file system that jobs mount. Default: no volume.
        efs: EFS access point that jobs mount. Default: no volume.
        namespace: Namespace of the claims, and so of the jobs; one that exists.
        gang_scheduler: Scheduler that starts all workers of a job together or none: `volcano`, or the name of another.
            Default: none.
        mirror: Registry with copies of the images. Default: those of the images.
    """

    parts: tuple[str, ...] = field(default_factory=lambda: tuple(PARTS))
    lustre: LustreAttributes | None = None
    efs: EfsAttributes | None = None
    namespace: str = "default"
    gang_scheduler: str | None = None
    mirror: str | None = None

    def __post_init__(self) -> None:
        """Check the names of the parts."""
        enforce(self, (_known_parts,))


def _known_parts(spec: PlatformSpec) -> Problems:
    for part in spec.parts:
        yield from unknown("part", part, PARTS)


def _mpi_operator(app: cdk8s.App, spec: PlatformSpec) -> None:
    MpiJobDefinitionChart(app, "mpi-job-definition")
    MpiOperatorChart(app, "mpi-operator", gang_scheduler=spec.gang_scheduler, mirror=spec.mirror)


def _nvidia_device_plugin(app: cdk8s.App, spec: PlatformSpec) -> None:
    NvidiaDevicePluginChart(app, "nvidia-device-plugin", mirror=spec.mirror)


def _efa_device_plugin(app: cdk8s.App, spec: PlatformSpec) -> None:
    EfaDevicePluginChart(app, "efa-device-plugin", mirror=spec.mirror)


#: What each part adds to an app.
PARTS: dict[str, Callable[[cdk8s.App, PlatformSpec], None]] = {
    "mpi-operator": _mpi_operator,
    "nvidia-device-plugin": _nvidia_device_plugin,
    "efa-device-plugin": _efa_device_plugin,
}

#: Every file that the platform can have; a folder that is applied as a whole holds no other.
PLATFORM_FILES = tuple(f"{chart}{_SUFFIX}" for chart in (*PARTS, "mpi-job-definition", "lustre-volume", "efs-volume"))


def add_platform(app: cdk8s.App, spec: PlatformSpec) -> None:
    """Add the charts of a platform to an app, each of which becomes a file.

    Args:
        app: The app.
        spec: What the cluster gets.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    for part in _once(spec.parts):
        PARTS[part](app, spec)
    if spec.lustre:
        LustreVolumeChart(
            app,
            "lustre-volume",
            file_system_id=spec.lustre.file_system_id,
            dns_name=spec.lustre.dns_name,
            mount_name=spec.lustre.mount_name,
            capacity_gib=spec.lustre.capacity_gib,
            namespace=spec.namespace,
            mirror=spec.mirror,
        )
    if spec.efs:
        EfsVolumeChart(
            app,
            "efs-volume",
            file_system_id=spec.efs.file_system_id,
            access_point_id=spec.efs.access_point_id,
            namespace=spec.namespace,
        )


def _once(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts))
