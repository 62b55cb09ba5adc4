"""A static PersistentVolume and its claim for an existing FSx for Lustre file system."""

import hashlib

import cdk8s
from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.versions import CHOWN_IMAGE
from training_workloads.jobs.volumes import LUSTRE_CLAIM, SHARED_DIRECTORIES
from training_workloads.mpijob.programs import UID
from training_workloads.platform.mirror import mirrored
from training_workloads.platform.static_volume import DEFAULT_NAMESPACE, add_static_volume

__all__ = ["LustreVolumeChart"]

_DRIVER = "fsx.csi.aws.com"


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
            driver=_DRIVER,
            volume_handle=file_system_id,
            volume_attributes={"dnsname": dns_name, "mountname": mount_name},
        )
        # File locks work across nodes.
        options = ["flock"]
        capacity = f"{capacity_gib}Gi"
        add_static_volume(self, source, claim=claim, namespace=namespace, capacity=capacity, mount_options=options)
        # A Job cannot be changed, only replaced: a change of what it does gives it another name.
        image = mirrored(CHOWN_IMAGE, mirror)
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
