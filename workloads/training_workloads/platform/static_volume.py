"""The parts of every static volume of a shared file system: they bind one claim to one volume, permanently."""

from cdk8s_plus_27 import k8s

from training_workloads.names import dns_label, dns_subdomain
from training_workloads.validation import Problems, enforce

__all__ = ["DEFAULT_NAMESPACE", "check_claim", "static_claim", "static_volume", "volume_name"]

#: The namespace of claims and jobs by default.
DEFAULT_NAMESPACE = "default"

# A claim of a static volume cannot be resized, while the file system behind it can: the claim asks for a constant that
# every file system has. No driver reads the number.
_CLAIMED = "1Gi"

# How AWS CDK writes a text that only the deployment knows.
_TOKEN = "${Token["

# Many pods on many nodes read and write.
_ACCESS_MODES = ["ReadWriteMany"]


def volume_name(claim: str, namespace: str) -> str:
    """Return the name of a claim's volume: volumes have no namespace, so claims of one name need several.

    Args:
        claim: Name of the claim.
        namespace: Its namespace.
    """
    return claim if namespace == DEFAULT_NAMESPACE else f"{claim}-{namespace}"


def static_volume(
    source: k8s.CsiPersistentVolumeSource,
    *,
    capacity: str = _CLAIMED,
    mount_options: list[str] | None = None,
) -> k8s.PersistentVolumeSpec:
    """Return a volume that is kept when its claim is deleted: deleting a claim must not delete data.

    Args:
        source: What the CSI driver mounts.
        capacity: What `kubectl get pv` shows, as a Kubernetes quantity. Default: 1 GiB, for file systems that grow by
            themselves.
        mount_options: Default: the driver's.
    """
    return k8s.PersistentVolumeSpec(
        capacity={"storage": k8s.Quantity.from_string(capacity)},
        access_modes=_ACCESS_MODES,
        mount_options=mount_options,
        persistent_volume_reclaim_policy="Retain",
        storage_class_name="",
        csi=source,
    )


def static_claim(volume: str) -> k8s.PersistentVolumeClaimSpec:
    """Return a claim that binds to one volume and to no other.

    Args:
        volume: Name of the volume.
    """
    return k8s.PersistentVolumeClaimSpec(
        access_modes=_ACCESS_MODES,
        resources=k8s.ResourceRequirements(requests={"storage": k8s.Quantity.from_string(_CLAIMED)}),
        # An empty class and the volume's name: without them a default class provisions something else.
        storage_class_name="",
        volume_name=volume,
    )


def check_claim(claim: str, namespace: str) -> None:
    """Reject names that the API server would reject.

    Args:
        claim: Name of the claim, and of the volume.
        namespace: Its namespace.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    enforce((claim, namespace), (_claim, _namespace))


def _claim(names: tuple[str, str]) -> Problems:
    if _TOKEN not in str(names[0]):
        # What a job mounts under this name has the same rule.
        yield from dns_subdomain("claim", names[0])


def _namespace(names: tuple[str, str]) -> Problems:
    if _TOKEN not in str(names[1]):
        yield from dns_label("namespace", names[1])
