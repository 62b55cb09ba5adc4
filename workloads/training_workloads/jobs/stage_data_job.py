"""Stages a dataset from S3 on the shared file system, before GPUs wait for it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from training_workloads.jobs.pod_template import UNPRIVILEGED, Image, Namespace, ServiceAccount, UserId, pod_template
from training_workloads.jobs.volumes import EFS_CLAIM, RUNS_DIRECTORY, Folder, SharedVolume
from training_workloads.mpijob.api import DAY_SECONDS
from training_workloads.mpijob.programs import CLASS_FOLDERS, STAGING, UID, USER_ERROR
from training_workloads.names import dns_label, leaves_room
from training_workloads.spec import Checked, Spec
from training_workloads.validation import Problem, Problems, at_least, instance_of, matches

__all__ = ["FileSystem", "StageDataJobSpec"]

FileSystem = Literal["lustre", "efs"]

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_BUCKET = r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
_S3_FOLDER = rf"s3://{_BUCKET}(/(?!\.{{1,2}}(/|$))[^/\s]+)+/?"

# S3 and Lustre answer slowly, so many files are read at once.
_RESOURCES = {"requests": {"cpu": 1, "memory": "4Gi"}, "limits": {"memory": "4Gi"}}
_THREADS_PER_POD = 32

_SHARED = "shared"
_CONTAINER = "stage"
_CLASS_FOLDERS = "class-folders"


def _s3_folder(name: str, source: Any) -> Problems:
    example = "a folder in S3, such as s3://<bucket>/data/imagenet/"
    bucket = re.match("s3://([^/]*)/", source) if isinstance(source, str) else None
    for problem in matches(name, source, _S3_FOLDER, example):
        if bucket and not re.fullmatch(_BUCKET, bucket[1]):
            form = "a bucket's name has 3 to 63 lower-case letters, digits, '-' and '.'"
            yield replace(problem, allowed=f"{form}, and {bucket[1]!r} is none")
        else:
            yield problem


class StageDataJobSpec(Spec):
    """A dataset on its way from S3 to the file system of the jobs, every file counted and its checksum verified.

    Lustre shows the files of a data repository at once, but fetches each from S3 at its first read: the job reads them
    all. To EFS it copies them. A job that was interrupted resumes where it was; complete files are kept.

    Attributes:
        name: Name of the job.
        image: The training image.
        source: Folder in S3, such as `s3://<bucket>/data/imagenet/`.
        service_account: Service account of the pods; it must be allowed to read the bucket, as a `JobIdentity` is.
        folder: Folder of the file system that holds the files. On Lustre it must be the one to which the data
            repository association maps `source`. Default: that of the same name, such as `data/imagenet`.
        file_system: `lustre` (default) or `efs`.
        volume: The file system. Default: the claim of the cluster's Lustre or EFS, at /fsx or /efs.
        class_folders: Folder of the file system where the images of ImageNet's archives, or of the extracted archive
            of validation images, get a folder for each class, when all is staged. Needs one pod. Default: none, the
            files stay as they are in S3.
        pods: Pods that share the files. Default: 1.
        namespace: Namespace of the job. Default: that of kubectl.
        user_id: User and group of the pods, such as a team's, which owns the files that they write. Default: 1000,
            the user of the image.
        backoff_limit: How often a pod that failed is retried. Default: 10.
    """

    name: Annotated[str, Checked(dns_label)]
    image: Image
    source: Annotated[str, Checked(_s3_folder)]
    service_account: ServiceAccount
    folder: Folder | None = None
    file_system: FileSystem = "lustre"
    volume: Annotated[SharedVolume, Checked(instance_of, SharedVolume)] | None = None
    class_folders: Folder | None = None
    # Kubernetes' limit for a Job that counts its pods (https://kubernetes.io/docs/concepts/workloads/controllers/job/).
    pods: Annotated[int, Checked(at_least, 1, 100_000)] = 1
    namespace: Namespace | None = None
    user_id: UserId = UID
    backoff_limit: Annotated[int, Checked(at_least, 0)] = 10

    @property
    def mounted(self) -> SharedVolume:
        """The file system as the pods see it."""
        default = SharedVolume() if self.file_system == "lustre" else SharedVolume(claim=EFS_CLAIM, mount_path="/efs")
        return self.volume or default

    @property
    def target(self) -> str:
        """The folder as the pods see it."""
        return self.mounted.path(self._folder)

    @property
    def _folder(self) -> str:
        _, _, same = self.source.removeprefix("s3://").partition("/")
        return same if self.folder is None else self.folder

    def to_wire(self) -> dict[str, Any]:
        """Return the Kubernetes Job's `spec` in the wire format."""
        # Containers of initContainers run one after the other, before those of containers.
        *before, last = self._containers()
        first: dict[str, Any] = {"initContainers": before} if before else {}
        template = pod_template(
            last,
            service_account=self.service_account,
            user_id=self.user_id,
            restartPolicy="Never",
            volumes=[self.mounted.to_wire(_SHARED)],
            **first,
        )
        return {
            # Each pod has a number, and takes its share of the files.
            "completionMode": "Indexed",
            "completions": self.pods,
            "parallelism": self.pods,
            "backoffLimit": self.backoff_limit,
            # A drained node does not count as a failure; a retry does not fix a mistake of the user.
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    *(
                        {
                            "action": "FailJob",
                            "onExitCodes": {"containerName": each["name"], "operator": "In", "values": [USER_ERROR]},
                        }
                        for each in (*before, last)
                    ),
                ]
            },
            "activeDeadlineSeconds": DAY_SECONDS,
            "ttlSecondsAfterFinished": 7 * DAY_SECONDS,
            "template": template,
        }

    def _containers(self) -> list[dict[str, Any]]:
        way = "preload" if self.file_system == "lustre" else "copy"
        options = {"source": self.source, "target": self.target, "shards": self.pods, "workers": _THREADS_PER_POD}
        if self.file_system == "lustre":
            # What Lustre fetches from S3 belongs to root, so the jobs' user records its progress in a folder of jobs.
            options["progress-folder"] = self.mounted.path(f"{RUNS_DIRECTORY}/.staged/{self._folder}")
        containers = [self._container(_CONTAINER, (*STAGING, way), options)]
        if self.class_folders is not None:
            folders = {"source": self.target, "output-dir": self.mounted.path(self.class_folders)}
            containers.append(self._container(_CLASS_FOLDERS, CLASS_FOLDERS, folders))
        return containers

    def _container(self, name: str, program: Sequence[str], options: Mapping[str, object]) -> dict[str, Any]:
        return {
            "name": name,
            "image": self.image,
            "command": [*program, *(word for option, value in options.items() for word in (f"--{option}", str(value)))],
            "resources": _RESOURCES,
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [self.mounted.to_mount(_SHARED)],
        }


@StageDataJobSpec.rule
def _name(spec: StageDataJobSpec) -> Problems:
    """Reject a name whose pods would have too long host names.

    https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/batch/validation/validation.go
    """
    yield from leaves_room("name", spec.name, f"-{spec.pods - 1}", "Kubernetes")


@StageDataJobSpec.rule
def _class_folders(spec: StageDataJobSpec) -> Problems:
    if spec.class_folders is not None and spec.pods > 1:
        # Each would begin when its own share is staged.
        allowed = f"{spec.pods} pods share the files, and none has all of them"
        fix = "use 1 pod, or omit it and start training.imagenet.class_folders when the job has ended"
        yield Problem(path=("class_folders",), given=spec.class_folders, allowed=allowed, fix=fix)
