"""Static volumes of shared file systems: one claim is bound to one volume, permanently."""

import cdk8s
from cdk8s_plus_27 import k8s

from training_workloads.names import dns_label, dns_subdomain
from training_workloads.validation import check

__all__ = ["DEFAULT_NAMESPACE", "add_static_volume"]

#: The namespace of claims and jobs by default.
DEFAULT_NAMESPACE = "default"

# A claim of a static volume cannot be resized, while the file system behind it can: the claim asks for a constant that
# every file system has. No driver reads the number.
_CLAIMED = "1Gi"

# How AWS CDK writes a text that only the deployment knows.
_TOKEN = "${Token["

# Many pods on many nodes read and write.
_ACCESS_MODES = ["ReadWriteMany"]


def add_static_volume(
    chart: cdk8s.Chart,
    source: k8s.CsiPersistentVolumeSource,
    *,
    claim: str,
    namespace: str,
    capacity: str = _CLAIMED,
    mount_options: list[str] | None = None,
) -> None:
    """Add a volume that is kept when its claim is deleted, and the claim: deleting a claim must not delete data.

    Args:
        chart: The chart.
        source: The volume of the CSI driver.
        claim: Name of the claim, and of its volume, which contains the namespace's name too outside of `default`:
            volumes have no namespace, so claims of one name need several.
        namespace: Namespace of the claim.
        capacity: The capacity in `kubectl get pv`, as a Kubernetes quantity. Default: 1 GiB, for file systems that grow
            by themselves.
        mount_options: Default: the driver's.

    Raises:
        InputError: A name is not one of Kubernetes.
    """
    # The volume of a job with this claim has the same rule.
    check(
        () if _TOKEN in str(claim) else dns_subdomain("claim", claim),
        () if _TOKEN in str(namespace) else dns_label("namespace", namespace),
    )
    name = claim if namespace == DEFAULT_NAMESPACE else f"{claim}-{namespace}"
    k8s.KubePersistentVolume(
        chart,
        "Volume",
        metadata=k8s.ObjectMeta(name=name),
        spec=k8s.PersistentVolumeSpec(
            capacity={"storage": k8s.Quantity.from_string(capacity)},
            access_modes=_ACCESS_MODES,
            mount_options=mount_options,
            persistent_volume_reclaim_policy="Retain",
            storage_class_name="",
            csi=source,
        ),
    )
    k8s.KubePersistentVolumeClaim(
        chart,
        "Claim",
        metadata=k8s.ObjectMeta(name=claim, namespace=namespace),
        spec=k8s.PersistentVolumeClaimSpec(
            access_modes=_ACCESS_MODES,
            resources=k8s.ResourceRequirements(requests={"storage": k8s.Quantity.from_string(_CLAIMED)}),
            # An empty class and the volume's name: without them a default class provisions something else.
            storage_class_name="",
            volume_name=name,
        ),
    )
