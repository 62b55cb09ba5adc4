"""The folders of a Lustre file system and their owners: a Job as root, in a namespace without users."""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from cdk8s_plus_27 import k8s
from constructs import Construct

from training_workloads.catalog.images import CHOWN_IMAGE
from training_workloads.jobs.volumes import SHARED_DIRECTORIES
from training_workloads.keywords import keywords_of
from training_workloads.mpijob.programs import UID
from training_workloads.platform.mirror import mirrored
from training_workloads.platform.volumes import LustreAddress, LustreVolumeChart

__all__ = ["JOBS_FOLDERS", "SYSTEM_NAMESPACE", "LustreFoldersChart", "OwnedFolder"]

#: The namespace of pods that run as root for the cluster; no user has rights in it.
SYSTEM_NAMESPACE = "training-system"

# The least level that admits root with the right to change owners
# (https://kubernetes.io/docs/concepts/security/pod-security-standards/#baseline).
_LEVEL = {"pod-security.kubernetes.io/enforce": "baseline"}

# The Job stays for a look at its log. A later deployment may create it again: what it does is done once.
_SECONDS_AFTER_THE_END = 3600

_MEMORY = k8s.Quantity.from_string("64Mi")


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedFolder:
    """A folder and its owner.

    Its parent must belong to root: the owner of the parent could replace the folder by a link to another.

    Attributes:
        path: From the root of the file system, without a slash first.
        user_id: User and group that own it.
        mode: Permissions as `chmod` takes them. Default: those of a new folder.
    """

    path: str
    user_id: int = UID
    mode: str | None = None


#: The folders of the jobs' user.
JOBS_FOLDERS = tuple(OwnedFolder(path=name) for name in SHARED_DIRECTORIES)


class LustreFoldersSpec(LustreAddress):
    """The Job that creates folders.

    Attributes:
        folders: The folders. Default: those of the jobs' user, `data` and `runs`.
        mirror: Registry with a copy of the Job's image. Default: the public one.
    """

    folders: Sequence[OwnedFolder] = JOBS_FOLDERS
    mirror: str | None = None


class LustreFoldersChart(LustreVolumeChart):
    """A Job that creates folders, beside a volume and a claim of the whole file system for it.

    All of them are in the namespace `training-system`, so that those of users admit no pod as root.
    """

    @keywords_of(LustreFoldersSpec)
    def __init__(self, scope: Construct, id: str, spec: LustreFoldersSpec) -> None:
        """Define the chart.

        Raises:
            InputError: A name is not one of Kubernetes.
        """
        super().__init__(scope, id, **spec.given(LustreAddress), namespace=SYSTEM_NAMESPACE)
        namespace = k8s.KubeNamespace(self, "Namespace", metadata=k8s.ObjectMeta(name=SYSTEM_NAMESPACE, labels=_LEVEL))
        # A Job cannot be changed, only replaced: a change of what it does gives it another name.
        image, script = str(mirrored(CHOWN_IMAGE, spec.mirror)), _script(spec.folders)
        digest = hashlib.sha256(f"{image} {script}".encode()).hexdigest()[:8]
        metadata = k8s.ObjectMeta(name=f"{spec.claim}-ownership-{digest}", namespace=SYSTEM_NAMESPACE)
        k8s.KubeJob(self, "Ownership", metadata=metadata, spec=_job(spec.claim, image, script))
        for each in self.api_objects:
            if each is not namespace:
                each.add_dependency(namespace)


def _script(folders: Sequence[OwnedFolder]) -> str:
    return " && ".join(_commands(folder) for folder in folders)


def _commands(folder: OwnedFolder) -> str:
    path = shlex.quote(f"/volume/{folder.path}")
    commands = [f"mkdir -p {path}", f"chown {folder.user_id}:{folder.user_id} {path}"]
    return " && ".join([*commands, *([f"chmod {folder.mode} {path}"] if folder.mode else [])])


def _job(claim: str, image: str, script: str) -> k8s.JobSpec:
    """Return the Job. A new Lustre belongs to root, and the CSI driver applies no fsGroup."""
    container = k8s.Container(
        name="chown",
        image=image,
        command=["sh", "-c", script],
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
    return k8s.JobSpec(
        template=k8s.PodTemplateSpec(spec=pod), backoff_limit=10, ttl_seconds_after_finished=_SECONDS_AFTER_THE_END
    )
