"""Static volumes of shared file systems, each with its claim: of FSx for Lustre, and of an access point of EFS."""

import hashlib

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.images import CHOWN_IMAGE
from training_workloads.jobs.volumes import EFS_CLAIM, LUSTRE_CLAIM, SHARED_DIRECTORIES
from training_workloads.mpijob.programs import UID
from training_workloads.names import dns_label, dns_subdomain
from training_workloads.platform.mirror import mirrored
from training_workloads.validation import check

__all__ = ["DEFAULT_NAMESPACE", "EfsVolumeChart", "LustreVolumeChart", "add_static_volume"]

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


class LustreVolumeChart(cdk8s.Chart):
    """The volume, the claim that jobs mount, and a Job that creates the folders of the jobs' user.

    Static, because dynamic provisioning cannot link a PERSISTENT_2 file system to S3, and retained, because
    deleting the claim must not delete data.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        file_system_id: str,
        dns_name: str,
        mount_name: str,
        capacity_gib: int | str,
        claim: str = LUSTRE_CLAIM,
        namespace: str = DEFAULT_NAMESPACE,
        mirror: str | None = None,
    ) -> None:
        """Define the chart.

        Args:
            file_system_id: `fs-…`.
            dns_name: DNS name of the file system.
            mount_name: FSx's mount name; it is `fsx` for SCRATCH_1 file systems only.
            capacity_gib: Storage capacity in GiB, as the volume shows it; text where only the deployment knows it.
            claim: Name of the claim, and of its volume, which contains the namespace's name too outside of `default`.
            namespace: Namespace of the claim, and so of the jobs.
            mirror: Registry with a copy of the ownership Job's image. Default: the public one.

        Raises:
            InputError: A name is not one of Kubernetes.
        """
        super().__init__(scope, id)
        source = k8s.CsiPersistentVolumeSource(
            driver="fsx.csi.aws.com",
            volume_handle=file_system_id,
            volume_attributes={"dnsname": dns_name, "mountname": mount_name},
        )
        # File locks work across nodes.
        options = ["flock"]
        capacity = f"{capacity_gib}Gi"
        add_static_volume(self, source, claim=claim, namespace=namespace, capacity=capacity, mount_options=options)
        # A Job cannot be changed, only replaced: a change of what it does gives it another name.
        image = str(mirrored(CHOWN_IMAGE, mirror))
        digest = hashlib.sha256(f"{image} {_script()}".encode()).hexdigest()[:8]
        metadata = k8s.ObjectMeta(name=f"{claim}-ownership-{digest}", namespace=namespace)
        k8s.KubeJob(self, "Ownership", metadata=metadata, spec=_ownership(claim, image))


_MEMORY = k8s.Quantity.from_string("64Mi")


def _script() -> str:
    folders = " ".join(f"/volume/{name}" for name in SHARED_DIRECTORIES)
    return f"mkdir -p {folders} && chown {UID}:{UID} {folders}"


def _ownership(claim: str, image: str) -> k8s.JobSpec:
    """Return a Job that creates the folders. A new Lustre belongs to root, and the CSI driver applies no fsGroup."""
    container = k8s.Container(
        name="chown",
        image=image,
        command=["sh", "-c", _script()],
        volume_mounts=[k8s.VolumeMount(name="volume", mount_path="/volume")],
        resources=k8s.ResourceRequirements(
            requests={"cpu": k8s.Quantity.from_string("100m"), "memory": _MEMORY}, limits={"memory": _MEMORY}
        ),
        security_context=k8s.SecurityContext(
            run_as_user=0,
            allow_privilege_escalation=False,
            read_only_root_filesystem=True,
            capabilities=k8s.Capabilities(drop=["ALL"], add=["CHOWN", "DAC_OVERRIDE", "FOWNER"]),
        ),
    )
    claimed = k8s.PersistentVolumeClaimVolumeSource(claim_name=claim)
    pod = k8s.PodSpec(
        containers=[container],
        volumes=[k8s.Volume(name="volume", persistent_volume_claim=claimed)],
        restart_policy="OnFailure",
        automount_service_account_token=False,
        security_context=k8s.PodSecurityContext(seccomp_profile=k8s.SeccompProfile(type="RuntimeDefault")),
    )
    return k8s.JobSpec(template=k8s.PodTemplateSpec(spec=pod), backoff_limit=10)


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
