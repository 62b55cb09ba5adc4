"""Static volumes of shared file systems, each with its claim: of FSx for Lustre, and of an access point of EFS."""

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.jobs.volumes import EFS_CLAIM, LUSTRE_CLAIM
from training_workloads.keywords import keywords_of
from training_workloads.names import dns_label, dns_subdomain
from training_workloads.spec import Spec
from training_workloads.validation import check

__all__ = [
    "DEFAULT_NAMESPACE",
    "EfsVolumeChart",
    "LustreAddress",
    "LustreVolumeChart",
    "add_static_volume",
    "volume_name",
]

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
    """Return the name of a claim's volume, which has the namespace's name too outside of `default`.

    Volumes have no namespace, so claims of one name need several.
    """
    return claim if namespace == DEFAULT_NAMESPACE else f"{claim}-{namespace}"


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
        claim: Name of the claim, and of its volume as `volume_name` has it.
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
    name = volume_name(claim, namespace)
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
            # Otherwise a claim of another namespace that names the volume could be first, and get it.
            claim_ref=k8s.ObjectReference(
                api_version="v1", kind="PersistentVolumeClaim", name=claim, namespace=namespace
            ),
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


class LustreAddress(Spec):
    """A file system of FSx for Lustre as a volume knows it.

    Attributes:
        file_system_id: `fs-…`.
        dns_name: DNS name of the file system.
        mount_name: FSx's mount name; it is `fsx` for SCRATCH_1 file systems only.
        capacity_gib: Storage capacity in GiB, as the volume shows it; text where only the deployment knows it.
        claim: Name of the claim, and the start of the names of what belongs to it: its volume, whose name ends with the
            namespace's outside of `default`, and the Job that creates the folders.
    """

    file_system_id: str
    dns_name: str
    mount_name: str
    capacity_gib: int | str
    claim: str = LUSTRE_CLAIM


class LustreVolumeSpec(LustreAddress):
    """The volume and the claim that jobs mount.

    Attributes:
        namespace: Namespace of the claim, and so of the jobs.
        folder: Folder that the pods see as the root, without a slash first; it must exist when a pod starts. Default:
            the root of the file system.
        read_only: Whether no pod can write.
    """

    namespace: str = DEFAULT_NAMESPACE
    folder: str = ""
    read_only: bool = False


class LustreVolumeChart(cdk8s.Chart):
    """The volume and the claim that jobs mount.

    Static, because dynamic provisioning cannot link a PERSISTENT_2 file system to S3, and retained, because
    deleting the claim must not delete data.
    """

    @keywords_of(LustreVolumeSpec)
    def __init__(self, scope: Construct, id: str, spec: LustreVolumeSpec) -> None:
        """Define the chart.

        Raises:
            InputError: A name is not one of Kubernetes.
        """
        super().__init__(scope, id)
        # The driver mounts `<DNS name>@tcp:/<mount name>`, and Lustre a folder below the name as a root that cannot be
        # left (https://github.com/kubernetes-sigs/aws-fsx-csi-driver/blob/master/pkg/driver/node.go, read 2026-11-28).
        # The kubelet takes volumes of one handle for one volume.
        name, folder = volume_name(spec.claim, spec.namespace), spec.folder
        source = k8s.CsiPersistentVolumeSource(
            driver="fsx.csi.aws.com",
            volume_handle=f"{spec.file_system_id}/{name}" if folder else spec.file_system_id,
            volume_attributes={
                "dnsname": spec.dns_name,
                "mountname": f"{spec.mount_name}/{folder}" if folder else spec.mount_name,
            },
        )
        # File locks work across nodes. `readOnly` of the source reaches no mount: the pod's own decides there.
        options = ["flock", *(["ro"] if spec.read_only else [])]
        capacity, where = f"{spec.capacity_gib}Gi", {"claim": spec.claim, "namespace": spec.namespace}
        add_static_volume(self, source, **where, capacity=capacity, mount_options=options)


class EfsVolumeChart(cdk8s.Chart):
    """The volume and the claim that jobs mount; what they write belongs to the access point's user."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        access_point_id: str,
        claim: str = EFS_CLAIM,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        """Define the chart.

        Args:
            file_system_id: `fs-…`.
            access_point_id: `fsap-…`.
            claim: Name of the claim, and of its volume, which contains the namespace's name too outside of `default`.
            namespace: Namespace of the claim, and so of the jobs.

        Raises:
            InputError: A name is not one of Kubernetes.
        """
        super().__init__(scope, id)
        # https://github.com/kubernetes-sigs/aws-efs-csi-driver/tree/master/examples/kubernetes/access_points
        source = k8s.CsiPersistentVolumeSource(
            driver="efs.csi.aws.com",
            volume_handle=f"{file_system_id}::{access_point_id}",
            volume_attributes={"encryptInTransit": "true"},
        )
        add_static_volume(self, source, claim=claim, namespace=namespace)
