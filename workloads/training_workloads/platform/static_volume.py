"""The parts that every static volume of a shared file system has: what binds one claim to one volume, for good."""

from cdk8s_plus_27 import k8s

from training_workloads.jobs.volumes import SharedVolume
from training_workloads.names import check_dns_label
from training_workloads.validation import enforce

__all__ = ["DEFAULT_NAMESPACE", "check_claim", "static_claim", "static_volume", "volume_name"]

#: Where claims and jobs are unless something else is said.
DEFAULT_NAMESPACE = "default"

# A claim of a static volume cannot be resized, while the file system behind it can: the claim asks for a constant that
# every file system has. No driver reads the number.
_CLAIMED = "1Gi"

# How AWS CDK writes a text that only the deployment knows.
_TOKEN = "${Token["

# Many pods on many nodes read and write.
_ACCESS_MODES = ["ReadWriteMany"]


def volume_name(claim: str, namespace: str) -> str:
    """Name of the volume that belongs to a claim: volumes are in no namespace, so claims of one name need several.

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
    """A volume that is kept when its claim is deleted, because deleting a claim must not delete data.

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
    """A claim that binds to one volume and to no other.

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
    """Refuses names that the API server would refuse; both mistakes are told at once.

    Args:
        claim: Name of the claim, and of the volume.
        namespace: Its namespace.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    enforce((claim, namespace), (_check_claim, _check_namespace))


def _check_claim(names: tuple[str, str]) -> None:
    if _TOKEN not in str(names[0]):
        # What a job mounts under this name has the same rule.
        SharedVolume(claim=names[0])


def _check_namespace(names: tuple[str, str]) -> None:
    if _TOKEN not in str(names[1]):
        check_dns_label("namespace", names[1])
