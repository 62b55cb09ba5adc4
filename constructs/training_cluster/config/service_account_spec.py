"""A service account of Kubernetes, and which objects of the bucket its pods reach."""

from dataclasses import dataclass

from pydantic import ConfigDict

from training_cluster.identity.job_identity import valid_prefix
from training_workloads.names import check_dns_label
from training_workloads.validation import Problems, enforce

__all__ = ["ServiceAccountSpec"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceAccountSpec:
    """What a job may do in S3, by the service account of its pods.

    Attributes:
        prefix: Folder of the bucket that the pods read and write, such as `runs/resnet50`; `/` for the whole bucket.
        namespace: Namespace of the service account.
        allow_delete: Whether the pods may delete objects too.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    prefix: str
    namespace: str = "default"
    allow_delete: bool = False

    def __post_init__(self) -> None:
        """Checks what IAM and Kubernetes would refuse."""
        enforce(self, (prefix_is_a_folder, namespace_is_a_label))


def prefix_is_a_folder(spec: ServiceAccountSpec) -> Problems:
    """Neither the whole bucket by accident nor a wildcard."""
    yield from valid_prefix("prefix", spec.prefix)


def namespace_is_a_label(spec: ServiceAccountSpec) -> None:
    """A name that Kubernetes takes."""
    check_dns_label("namespace", spec.namespace)
