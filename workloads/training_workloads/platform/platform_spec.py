"""The platform of a cluster that the CDK stack did not create: the parts by name, and their files."""

from dataclasses import dataclass

from training_workloads.platform.file_systems import EfsAttributes, LustreAttributes
from training_workloads.validation import Problems, enforce, unknown

__all__ = [
    "EFA_DEVICE_PLUGIN",
    "EFS_VOLUME",
    "LUSTRE_FOLDERS",
    "LUSTRE_VOLUME",
    "MPI_JOB_DEFINITION",
    "MPI_OPERATOR",
    "MPI_OPERATOR_NAMESPACE",
    "MPI_OPERATOR_USER",
    "NVIDIA_DEVICE_PLUGIN",
    "PARTS",
    "PLATFORM_FILES",
    "SYSTEM_NAMESPACES",
    "PlatformSpec",
]

#: Where the operator runs; jobs run in any namespace.
MPI_OPERATOR_NAMESPACE = "mpi-operator"

#: The operator as a user of the API.
MPI_OPERATOR_USER = f"system:serviceaccount:{MPI_OPERATOR_NAMESPACE}:mpi-operator"

#: The namespaces of Kubernetes and of the parts of this library begin so: their pods have rights that no job needs.
SYSTEM_NAMESPACES = ("kube-", "kueue-", MPI_OPERATOR_NAMESPACE, "amazon-", "training-system")

#: The parts that a cluster can have or not; `parts` has their charts.
MPI_OPERATOR = "mpi-operator"
NVIDIA_DEVICE_PLUGIN = "nvidia-device-plugin"
EFA_DEVICE_PLUGIN = "efa-device-plugin"
PARTS = (MPI_OPERATOR, NVIDIA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN)

#: The charts beside those of the parts.
MPI_JOB_DEFINITION = "mpi-job-definition"
LUSTRE_VOLUME = "lustre-volume"
LUSTRE_FOLDERS = "lustre-folders"
EFS_VOLUME = "efs-volume"

#: Every file that the platform can have; a folder that is applied as a whole holds no other.
PLATFORM_FILES = tuple(
    f"{chart}.k8s.yaml" for chart in (*PARTS, MPI_JOB_DEFINITION, LUSTRE_VOLUME, LUSTRE_FOLDERS, EFS_VOLUME)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlatformSpec:
    """The parts and volumes of a cluster.

    Attributes:
        parts: Names of parts. Default: all. On a cluster with NVIDIA's GPU Operator leave `nvidia-device-plugin` out.
        lustre: Lustre file system that jobs mount. Default: no volume.
        efs: EFS access point that jobs mount. Default: no volume.
        namespace: Namespace of the claims, and so of the jobs; one that exists.
        gang_scheduler: Scheduler that starts all workers of a job together or none: `volcano`, or the name of another.
            Default: none.
        mirror: Registry with copies of the images. Default: those of the images.
    """

    parts: tuple[str, ...] = PARTS
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
