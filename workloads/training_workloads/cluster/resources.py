"""The kinds of objects that the commands use, and where the API server keeps them."""

from dataclasses import dataclass
from urllib.parse import quote

from training_workloads.mpijob.spec import API_VERSION

__all__ = [
    "BATCH_JOBS",
    "CLAIMS",
    "EVENTS",
    "MPI_JOBS",
    "NAMESPACES",
    "NETWORK_POLICIES",
    "PODS",
    "Resource",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Resource:
    """A kind of object.

    Attributes:
        api_version: Such as `v1` or `batch/v1`.
        kind: As a manifest names it.
        plural: As the address of the API names it.
        namespaced: Whether its objects lie in namespaces.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def title(self) -> str:
        """As `kubectl` names it: `pods`, `mpijobs.kubeflow.org`."""
        group, slash, _ = self.api_version.rpartition("/")
        return f"{self.plural}.{group}" if slash else self.plural

    @property
    def kind_and_version(self) -> str:
        """As a manifest names it: `MPIJob (kubeflow.org/v2beta1)`."""
        return f"{self.kind} ({self.api_version})"

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """Where its objects are, or one of them; a name that holds more than a name leads nowhere else.

        Args:
            namespace: `None`: all namespaces.
            name: Of one object. Default: all.
        """
        parts = [api_path(self.api_version)]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        # An empty name is not the whole collection.
        return "/".join([*parts, self.plural, *([] if name is None else [quote(name, safe="")])])


def api_path(api_version: str) -> str:
    """Where a version of an API is.

    Args:
        api_version: Such as `v1` or `batch/v1`.
    """
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


MPI_JOBS = Resource(api_version=API_VERSION, kind="MPIJob", plural="mpijobs")
BATCH_JOBS = Resource(api_version="batch/v1", kind="Job", plural="jobs")
PODS = Resource(api_version="v1", kind="Pod", plural="pods")
EVENTS = Resource(api_version="v1", kind="Event", plural="events")
CLAIMS = Resource(api_version="v1", kind="PersistentVolumeClaim", plural="persistentvolumeclaims")
NAMESPACES = Resource(api_version="v1", kind="Namespace", plural="namespaces", namespaced=False)
NETWORK_POLICIES = Resource(api_version="networking.k8s.io/v1", kind="NetworkPolicy", plural="networkpolicies")
