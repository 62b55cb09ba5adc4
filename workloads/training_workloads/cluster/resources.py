"""The kinds of objects that the commands use."""

from dataclasses import dataclass

from training_workloads.jobs.train_job import TRAIN_JOB, TRAIN_JOB_API
from training_workloads.mpijob.api import API_VERSION

__all__ = [
    "BATCH_JOBS",
    "CLAIMS",
    "CONFIG_MAPS",
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "EVENTS",
    "MPI_JOBS",
    "NAMESPACES",
    "NETWORK_POLICIES",
    "NODES",
    "PODS",
    "SERVICES",
    "TRAIN_JOBS",
    "Resource",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """A kind of object in the API of Kubernetes.

    Attributes:
        api_version: Such as `v1` or `batch/v1`.
        kind: Its name in a manifest.
        plural: Its name in the API's addresses.
        namespaced: Whether its objects are in namespaces.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def title(self) -> str:
        """The name that `kubectl` uses: `pods`, `mpijobs.kubeflow.org`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kind_and_version(self) -> str:
        """The name that a manifest uses: `MPIJob (kubeflow.org/v2beta1)`."""
        return f"{self.kind} ({self.api_version})"


MPI_JOBS = Resource(api_version=API_VERSION, kind="MPIJob", plural="mpijobs")
BATCH_JOBS = Resource(api_version="batch/v1", kind="Job", plural="jobs")
TRAIN_JOBS = Resource(api_version=TRAIN_JOB_API, kind=TRAIN_JOB, plural="trainjobs")
PODS = Resource(api_version="v1", kind="Pod", plural="pods")
CONFIG_MAPS = Resource(api_version="v1", kind="ConfigMap", plural="configmaps")
EVENTS = Resource(api_version="v1", kind="Event", plural="events")
CLAIMS = Resource(api_version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims")
NAMESPACES = Resource(api_version="v1", kind="Namespace", plural="namespaces", namespaced=False)
NETWORK_POLICIES = Resource(api_version="networking.k8s.io/v1", kind="NetworkPolicy", plural="networkpolicies")
NODES = Resource(api_version="v1", kind="Node", plural="nodes", namespaced=False)
SERVICES = Resource(api_version="v1", kind="Service", plural="services")
DAEMON_SETS = Resource(api_version="apps/v1", kind="DaemonSet", plural="daemonsets")
DEPLOYMENTS = Resource(api_version="apps/v1", kind="Deployment", plural="deployments")
