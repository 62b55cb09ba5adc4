"""The charts of the platform for a cluster that the CDK stack did not create."""

from dataclasses import asdict

import cdk8s

from training_workloads.platform.device_plugins import EfaDevicePluginChart, NvidiaDevicePluginChart
from training_workloads.platform.efs_volume import EfsVolumeChart
from training_workloads.platform.lustre_volume import LustreVolumeChart
from training_workloads.platform.mpi_operator import MpiJobDefinitionChart, MpiOperatorChart
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


_DEVICE_PLUGINS = {NVIDIA_DEVICE_PLUGIN: NvidiaDevicePluginChart, EFA_DEVICE_PLUGIN: EfaDevicePluginChart}


def add_platform(app: cdk8s.App, spec: PlatformSpec) -> None:
    """Add the charts of a platform to an app, each of which becomes a file.

    Args:
        app: The app.
        spec: The parts and volumes.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    for part in dict.fromkeys(spec.parts):
        if part == MPI_OPERATOR:
            MpiJobDefinitionChart(app, MPI_JOB_DEFINITION)
            MpiOperatorChart(app, MPI_OPERATOR, gang_scheduler=spec.gang_scheduler, mirror=spec.mirror)
        else:
            _DEVICE_PLUGINS[part](app, part, mirror=spec.mirror)
    if spec.lustre:
        LustreVolumeChart(app, LUSTRE_VOLUME, **asdict(spec.lustre), namespace=spec.namespace, mirror=spec.mirror)
    if spec.efs:
        EfsVolumeChart(app, EFS_VOLUME, **asdict(spec.efs), namespace=spec.namespace)
