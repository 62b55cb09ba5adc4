"""The release of each platform component of a cluster, stated once with its source and date."""

from dataclasses import dataclass
from datetime import date

__all__ = [
    "AMI_DRIVERS",
    "CLUSTER_AUTOSCALER",
    "DCGM_EXPORTER",
    "DEFAULT_LUSTRE_VERSION",
    "EFA_DEVICE_PLUGIN",
    "KUBERNETES_VERSION",
    "KUBERNETES_VERSIONS",
    "KUEUE",
    "LUSTRE_VERSION",
    "MPI_OPERATOR_KUBERNETES_VERSION",
    "NOTEBOOK_INSTANCE_TYPE",
    "NOTEBOOK_PLATFORM",
    "NVIDIA_DEVICE_PLUGIN",
    "OTHER_SYSTEM_INSTANCE_TYPES",
    "SYSTEM_INSTANCE_TYPE",
    "AmiDrivers",
    "HelmRelease",
]

#: The release of a new cluster; its dates and add-ons are in `kubernetes_releases.py`. The next default is one release
#: newer at most: EKS upgrades a control plane by one minor at a time
#: (https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html, read 2026-11-23).
KUBERNETES_VERSION = "1.35"

#: Every release that a new cluster can have, oldest first: those in EKS's standard support
#: (https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html, read 2026-11-23).
KUBERNETES_VERSIONS = ("1.34", "1.35", "1.36", "1.37")

#: FSx's newest; FSx's default is an older one without data repositories on PERSISTENT_2
#: (https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html).
LUSTRE_VERSION = "2.15"

#: FSx's default, and that for PERSISTENT_2: https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html
DEFAULT_LUSTRE_VERSION = "2.10"

#: The Kubernetes release whose types the operator makes pods from: what newer releases know reaches no pod
#: (https://github.com/kubeflow/mpi-operator/issues/804, docs/adr/0018).
MPI_OPERATOR_KUBERNETES_VERSION = "1.35"

#: Nodes of the operator, the launchers and the cluster's services.
SYSTEM_INSTANCE_TYPE = "m5.xlarge"

#: Others of 4 vCPUs and 16 GiB, for regions without it: https://aws.amazon.com/ec2/instance-types/ (not read here; EC2
#: says which a zone offers).
OTHER_SYSTEM_INSTANCE_TYPES = ("m7i.xlarge", "m6i.xlarge", "m7a.xlarge", "m6a.xlarge", "m5a.xlarge")

#: SageMaker's notebook instances, and their operating system: since 1 July 2026 none can be created on Amazon Linux 2
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/nbi-al2.html, read 2026-11-23).
NOTEBOOK_INSTANCE_TYPE = "ml.t3.medium"
NOTEBOOK_PLATFORM = "notebook-al2023-v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmRelease:
    """A Helm chart with its repository and version; its image is in `images.py`.

    Attributes:
        chart: Name of the chart in its repository.
        repository: Address of the repository.
        version: Version of the chart (not of the program).
        checked: Date on which the version was read.
        digest: SHA-256 of the chart's archive, as the repository's index has it; None where no index and no two other
            records of it were read. `mirror-commands` checks it; CDK's function with Helm cannot.
    """

    chart: str
    repository: str
    version: str
    checked: date
    digest: str | None = None

    @property
    def upstream_chart(self) -> str:
        """The repository in the words of Helm and the CDK: in a registry of images each chart has a separate one."""
        return f"{self.repository}/{self.chart}" if self.repository.startswith("oci://") else self.repository


NVIDIA_DEVICE_PLUGIN = HelmRelease(
    chart="nvidia-device-plugin",
    repository="https://nvidia.github.io/k8s-device-plugin",
    version="0.20.1",
    checked=date(2026, 11, 23),
)

EFA_DEVICE_PLUGIN = HelmRelease(
    chart="aws-efa-k8s-device-plugin",
    repository="https://aws.github.io/eks-charts",
    version="v0.5.30",
    checked=date(2026, 11, 21),
)

#: The digest is in two public repositories that check it.
CLUSTER_AUTOSCALER = HelmRelease(
    chart="cluster-autoscaler",
    repository="https://kubernetes.github.io/autoscaler",
    version="9.59.0",
    checked=date(2026, 11, 21),
    digest="90276dafe65cf5d4328ef8313baf6cfb9d130683e0c9f3c28a03b4d8a9ed8f6e",
)

#: https://github.com/NVIDIA/dcgm-exporter/pull/712; since 4.8.2 distroless is the only kind of image
#: (https://github.com/NVIDIA/dcgm-exporter/issues/703).
DCGM_EXPORTER = HelmRelease(
    chart="dcgm-exporter",
    repository="https://nvidia.github.io/dcgm-exporter/helm-charts",
    version="4.8.3",
    checked=date(2026, 11, 23),
)

#: The newest patch that was found of the minor release before the newest, 0.20
#: (https://github.com/kubernetes-sigs/kueue/tree/main/CHANGELOG). It needs MPI operator 0.8.0 or newer; its chart has
#: the resource definitions.
KUEUE = HelmRelease(
    chart="kueue",
    repository="oci://registry.k8s.io/kueue/charts",
    version="0.19.6",
    checked=date(2026, 11, 23),
)


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
