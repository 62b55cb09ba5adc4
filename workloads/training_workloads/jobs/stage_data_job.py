"""Stages a dataset from S3 on the shared file system, before GPUs wait for it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import cdk8s
from constructs import Construct

from training_workloads.jobs.pod_template import UNPRIVILEGED, check_kind, image, namespace, pod_template
from training_workloads.jobs.volumes import EFS_CLAIM, RUNS_DIRECTORY, SharedVolume, folder
from training_workloads.mpijob.programs import CLASS_FOLDERS, STAGING, USER_ERROR
from training_workloads.mpijob.spec import DAY_SECONDS
from training_workloads.names import dns_label, dns_subdomain, leaves_room
from training_workloads.validation import Problem, Problems, at_least, enforce, instance_of, matches, one_of

__all__ = ["FileSystem", "StageDataJob", "StageDataJobSpec"]

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


@dataclass(frozen=True, kw_only=True, slots=True)
class StageDataJobSpec:
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
        namespace: Default: that of kubectl.
        backoff_limit: How often a pod that failed is retried. Default: 10.
    """

    name: str
    image: str
    source: str
    service_account: str
    folder: str | None = None
    file_system: FileSystem = "lustre"
    volume: SharedVolume | None = None
    class_folders: str | None = None
    pods: int = 1
    namespace: str | None = None
    backoff_limit: int = 10

    def __post_init__(self) -> None:
        """Check everything that can be known before the job runs."""
        enforce(self, _RULES)

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


class StageDataJob(cdk8s.ApiObject):
    """The Kubernetes Job that stages a dataset, in a chart.

    Attributes:
        spec: What it was made from.
    """

    def __init__(self, scope: Construct, id: str, *, spec: StageDataJobSpec) -> None:
        """Define the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        check_kind(spec, StageDataJobSpec)
        metadata = cdk8s.ApiObjectMetadata(name=spec.name, namespace=spec.namespace)
        super().__init__(scope, id, api_version="batch/v1", kind="Job", metadata=metadata)
        self.spec = spec
        self.add_json_patch(cdk8s.JsonPatch.add("/spec", spec.to_wire()))


def _name(spec: StageDataJobSpec) -> Problems:
    """Reject a name whose pods would have too long host names.

    https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/apis/batch/validation/validation.go
    """
    wrong = [*dns_label("name", spec.name), *_pods(spec)]
    yield from wrong
    if not wrong:
        yield from leaves_room("name", spec.name, f"-{spec.pods - 1}", "Kubernetes")


def _source(spec: StageDataJobSpec) -> Problems:
    example = "a folder in S3, such as s3://<bucket>/data/imagenet/"
    problems = list(matches("source", spec.source, _S3_FOLDER, example))
    bucket = re.match("s3://([^/]*)/", spec.source) if problems and isinstance(spec.source, str) else None
    if bucket and not re.fullmatch(_BUCKET, bucket[1]):
        allowed = f"a bucket's name has 3 to 63 lower-case letters, digits, '-' and '.', and {bucket[1]!r} is none"
        problems = [replace(problems[0], allowed=allowed)]
    yield from problems


def _pods(spec: StageDataJobSpec) -> Problems:
    # Kubernetes' limit for a Job that counts its pods (https://kubernetes.io/docs/concepts/workloads/controllers/job/).
    yield from at_least("pods", spec.pods, 1, 100_000)


def _class_folders(spec: StageDataJobSpec) -> Problems:
    if spec.class_folders is None:
        return
    yield from folder("class_folders", spec.class_folders)
    if isinstance(spec.pods, int) and spec.pods > 1:
        # Each would begin when its own share is staged.
        allowed = f"{spec.pods} pods share the files, and none has all of them"
        fix = "set 'pods' to 1, or leave it out and start training.imagenet.class_folders when the job has ended"
        yield Problem(path=("class_folders",), given=spec.class_folders, allowed=allowed, fix=fix)


_RULES = (
    _name,
    image,
    _source,
    lambda spec: () if spec.folder is None else folder("folder", spec.folder),
    lambda spec: dns_subdomain("service_account", spec.service_account),
    lambda spec: one_of("file_system", spec.file_system, get_args(FileSystem)),
    lambda spec: () if spec.volume is None else instance_of("volume", spec.volume, SharedVolume),
    _class_folders,
    namespace,
    lambda spec: at_least("backoff_limit", spec.backoff_limit, 0),
)
