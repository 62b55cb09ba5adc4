"""The charts of the platform for a cluster that the CDK stack did not create."""

from collections.abc import Callable, Iterable

import cdk8s

from training_workloads.platform.efa_device_plugin import EfaDevicePluginChart
from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MpiJobDefinitionChart, MpiOperatorChart
from training_workloads.platform.nvidia_device_plugin import NvidiaDevicePluginChart
from training_workloads.platform.platform_spec import (
    EFA_DEVICE_PLUGIN,
    EFS_VOLUME,
    LUSTRE_VOLUME,
    MPI_JOB_DEFINITION,
    MPI_OPERATOR,
    NVIDIA_DEVICE_PLUGIN,
    PlatformSpec,
)

__all__ = ["add_platform"]


def _mpi_operator(app: cdk8s.App, spec: PlatformSpec) -> None:
    MpiJobDefinitionChart(app, MPI_JOB_DEFINITION)
    MpiOperatorChart(app, MPI_OPERATOR, gang_scheduler=spec.gang_scheduler, mirror=spec.mirror)


def _nvidia_device_plugin(app: cdk8s.App, spec: PlatformSpec) -> None:
    NvidiaDevicePluginChart(app, NVIDIA_DEVICE_PLUGIN, mirror=spec.mirror)


def _efa_device_plugin(app: cdk8s.App, spec: PlatformSpec) -> None:
    EfaDevicePluginChart(app, EFA_DEVICE_PLUGIN, mirror=spec.mirror)


# What each part adds to an app.
_CHARTS: dict[str, Callable[[cdk8s.App, PlatformSpec], None]] = {
    MPI_OPERATOR: _mpi_operator,
    NVIDIA_DEVICE_PLUGIN: _nvidia_device_plugin,
    EFA_DEVICE_PLUGIN: _efa_device_plugin,
}


def add_platform(app: cdk8s.App, spec: PlatformSpec) -> None:
    """Add the charts of a platform to an app, each of which becomes a file.

    Args:
        app: The app.
        spec: What the cluster gets.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    for part in _once(spec.parts):
        _CHARTS[part](app, spec)
    if spec.lustre:
        LustreVolumeChart(
            app,
            LUSTRE_VOLUME,
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
            EFS_VOLUME,
            file_system_id=spec.efs.file_system_id,
            access_point_id=spec.efs.access_point_id,
            namespace=spec.namespace,
        )


def _once(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parts))
