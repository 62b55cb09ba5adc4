"""The release of each platform component of a cluster, stated once with its source and date."""

from dataclasses import dataclass
from datetime import date

__all__ = [
    "AMI_DRIVERS",
    "CHOWN_IMAGE",
    "CLUSTER_AUTOSCALER",
    "CLUSTER_AUTOSCALER_IMAGE_TAGS",
    "DEFAULT_LUSTRE_VERSION",
    "EFA_DEVICE_PLUGIN",
    "KUBERNETES_VERSION",
    "KUBERNETES_VERSIONS",
    "LUSTRE_VERSION",
    "MPI_OPERATOR_IMAGE",
    "NVIDIA_DEVICE_PLUGIN",
    "SYSTEM_INSTANCE_TYPE",
    "AmiDrivers",
    "HelmRelease",
]

#: EKS release of 28 Jan 2026, standard support until 27 Mar 2027
#: (https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html, read 2026-11-21).
KUBERNETES_VERSION = "1.35"

#: Every release that a cluster can have, oldest first: those in EKS's standard support (same page) with which this
#: project is tested.
KUBERNETES_VERSIONS = ("1.34", "1.35")

#: FSx's newest; FSx's default is an older one without data repositories on PERSISTENT_2
#: (https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html).
LUSTRE_VERSION = "2.15"

#: FSx's default, and that for PERSISTENT_2: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
DEFAULT_LUSTRE_VERSION = "2.10"

#: https://github.com/kubeflow/mpi-operator/releases (the image's tag has no "v"), read 2026-11-21.
MPI_OPERATOR_IMAGE = "mpioperator/mpi-operator:0.8.2"

#: Nodes of the operator, the launchers and the cluster's services.
SYSTEM_INSTANCE_TYPE = "m5.xlarge"

#: Makes the job folders of a new file system writable for the non-root user of the jobs.
CHOWN_IMAGE = "public.ecr.aws/docker/library/busybox:1.37.0"


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmRelease:
    """A Helm chart with its repository, version and image.

    Attributes:
        chart: Name of the chart in its repository.
        repository: Address of the repository.
        version: Version of the chart (not of the program).
        image: Address of the program's image, without the tag.
        image_tag: Tag of the image; None if it depends on the cluster.
        checked: Date on which the version was read.
    """

    chart: str
    repository: str
    version: str
    image: str
    image_tag: str | None
    checked: date


NVIDIA_DEVICE_PLUGIN = HelmRelease(
    chart="nvidia-device-plugin",
    repository="https://nvidia.github.io/k8s-device-plugin",
    version="0.18.0",
    image="nvcr.io/nvidia/k8s-device-plugin",
    image_tag="v0.18.0",
    checked=date(2026, 11, 21),
)

EFA_DEVICE_PLUGIN = HelmRelease(
    chart="aws-efa-k8s-device-plugin",
    repository="https://aws.github.io/eks-charts",
    version="v0.5.30",
    # The chart's own default, for every region (https://github.com/aws/eks-charts, values.yaml of the chart).
    image="602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin",
    image_tag="v0.5.20",
    checked=date(2026, 11, 21),
)

CLUSTER_AUTOSCALER = HelmRelease(
    chart="cluster-autoscaler",
    repository="https://kubernetes.github.io/autoscaler",
    version="9.59.0",
    image="registry.k8s.io/autoscaling/cluster-autoscaler",
    image_tag=None,
    checked=date(2026, 11, 21),
)

#: The autoscaler simulates the scheduler, so its minor version is the cluster's
#: (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/README.md#releases, read 2026-11-21).
CLUSTER_AUTOSCALER_IMAGE_TAGS = {"1.34": "v1.34.3", "1.35": "v1.35.0"}


@dataclass(frozen=True, kw_only=True, slots=True)
class AmiDrivers:
    """The NVIDIA driver branches of the AL2023 NVIDIA AMI of EKS; it loads the one that supports the GPU.

    Attributes:
        since: Date of the first such release, as in the release's name (20260917).
        branches: Driver branches, such as 580.
        source: URL of the release notes, and the date on which they were read.
    """

    since: int
    branches: tuple[int, ...]
    source: str


#: Oldest first. An AMI release older than the first row is not checked.
AMI_DRIVERS = (
    AmiDrivers(
        since=20251110, branches=(580,), source="https://github.com/awslabs/amazon-eks-ami/pull/2509, read 2026-11-21"
    ),
    AmiDrivers(
        since=20260917,
        branches=(580, 595),
        source="https://github.com/awslabs/amazon-eks-ami/releases/tag/v20260917, read 2026-11-21",
    ),
)
