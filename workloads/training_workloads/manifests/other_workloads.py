"""Jobs of other kinds than MPIJobs, as read from a file: where each kind has its pods."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_workloads.catalog.nodes import GPU_RESOURCE
from training_workloads.manifests.places import places
from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.torchrun import torchrun
from training_workloads.manifests.values import mapping, sequence, value_at, whole
from training_workloads.manifests.workload import WorkloadView
from training_workloads.validation import Path

__all__ = ["OTHER_KINDS", "BatchJob", "JobSetView", "JobView", "ReplicaSpecsView", "TrainJobView", "other_workload"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchJob:
    """A batch/v1 Job, or the template of one.

    Attributes:
        name: Its name in the document.
        path: The path of its spec.
        spec: Its spec.
        copies: How many there are of it; None where that is no whole number.
    """

    name: str
    path: Path
    spec: Mapping[Any, Any]
    copies: int | None = 1

    @property
    def parallelism(self) -> int | None:
        """How many of its pods run at once; None where that is no whole number."""
        return whole(1 if self.spec.get("parallelism") is None else self.spec.get("parallelism"))

    @property
    def pods(self) -> PodGroup:
        """Its pods."""
        counts = (self.parallelism, self.copies)
        return PodGroup(
            role=self.name,
            template_path=(*self.path, "template"),
            template=mapping(self.spec.get("template")),
            replicas=None if None in counts else (self.parallelism or 0) * (self.copies or 0),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class JobView(WorkloadView):
    """A batch/v1 Job."""

    @property
    def jobs(self) -> Sequence[BatchJob]:
        """Itself."""
        return [BatchJob(name="Job", path=("spec",), spec=self.spec)]

    @property
    def trains(self) -> bool:
        """Whether a container requests GPUs, or runs torchrun."""
        return any(one.amount(GPU_RESOURCE) or torchrun(one.argv) for one in self.containers)

    @property
    def groups(self) -> Sequence[PodGroup]:
        """Its pods."""
        return [job.pods for job in self.jobs]


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSetView(JobView):
    """A JobSet, or a runtime of TrainJobs, which has one in its template."""

    @property
    def set_path(self) -> Path:
        """The path of the JobSet's spec."""
        return ("spec",) if self.kind == "JobSet" else ("spec", "template", "spec")

    @property
    def set_spec(self) -> Mapping[Any, Any]:
        """The JobSet's spec."""
        return self.spec if self.kind == "JobSet" else mapping(mapping(self.spec.get("template")).get("spec"))

    @property
    def jobs(self) -> Sequence[BatchJob]:
        """Its replicated jobs."""
        listed = enumerate(map(mapping, sequence(self.set_spec.get("replicatedJobs"))))
        return [
            BatchJob(
                name=str(job.get("name")),
                path=(*self.set_path, "replicatedJobs", number, "template", "spec"),
                spec=mapping(mapping(job.get("template")).get("spec")),
                copies=whole(1 if job.get("replicas") is None else job.get("replicas")),
            )
            for number, job in listed
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaSpecsView(WorkloadView):
    """A PyTorchJob or TFJob of the training operator."""

    @property
    def roles_field(self) -> str:
        """The field of the spec that has the roles."""
        return "pytorchReplicaSpecs" if self.kind == "PyTorchJob" else "tfReplicaSpecs"

    @property
    def groups(self) -> Sequence[PodGroup]:
        """The pods of each role."""
        roles = mapping(self.spec.get(self.roles_field)).items()
        return [
            PodGroup(
                role=str(role),
                template_path=("spec", self.roles_field, str(role), "template"),
                template=mapping(replica.get("template")),
                replicas=whole(1 if replica.get("replicas") is None else replica.get("replicas")),
            )
            for role, replica in roles
            if isinstance(replica, Mapping)
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainJobView(WorkloadView):
    """A TrainJob: its trainer is a container of pods whose template is in the runtime, which is not seen here."""

    @property
    def trainer(self) -> Mapping[Any, Any]:
        """Its `spec.trainer`."""
        return mapping(self.spec.get("trainer"))

    @property
    def groups(self) -> Sequence[PodGroup]:
        """The trainer's pods, as far as the document describes them."""
        _, patch = self.patch
        containers = sequence(patch.get("containers"))
        container = {**mapping(containers[0] if containers else {})}
        container |= {name: self.trainer[field] for name, field in _TRAINER.items() if field in self.trainer}
        template = {"spec": {**patch, "containers": [container]}} if container or patch else {}
        nodes = whole(self.trainer.get("numNodes"))
        return [
            PodGroup(
                role="trainer",
                template_path=("spec", "trainer"),
                template=template,
                replicas=nodes,
                is_whole=False,
            )
        ]

    @property
    def written_groups(self) -> Sequence[PodGroup]:
        """None: the runtime has the template."""
        return ()

    @property
    def patch(self) -> tuple[Path, Mapping[Any, Any]]:
        """The first of its patches of the spec of the runtime's pods, after its path."""
        found = (place for pattern in _PATCHES for place in places(self.document, pattern))
        return next(((place.path, mapping(place.value)) for place in found), ((), {}))

    def source_path(self, path: Path) -> Path | None:
        """Return where the document has a value of the trainer's pods; None where the runtime may have it."""
        pod, container = ("spec", "trainer", "spec"), ("spec", "trainer", "spec", "containers", 0)
        rest = path[len(container) :]
        field = _TRAINER.get(str(rest[0]), "") if rest else ""
        if path[: len(container)] == container and field in self.trainer:
            path = ("spec", "trainer", field, *rest[1:])
        elif path[: len(pod)] == pod:
            path = (*self.patch[0], *path[len(pod) :])
        return path if value_at(self.document, path) is not None else None


# The fields of a container that the trainer has, by its names for them.
_TRAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resources": "resourcesPerNode"}

# Where a TrainJob changes the runtime's pods; the name has changed twice
# (https://www.kubeflow.org/docs/components/trainer/operator-guides/).
_PATCHES = (
    "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template.spec",
    "spec.podTemplateOverrides[].spec",
    "spec.podSpecOverrides[]",
)


_VIEWS: dict[tuple[str, str], type[WorkloadView]] = {
    ("batch", "Job"): JobView,
    ("jobset.x-k8s.io", "JobSet"): JobSetView,
    ("kubeflow.org", "PyTorchJob"): ReplicaSpecsView,
    ("kubeflow.org", "TFJob"): ReplicaSpecsView,
    ("trainer.kubeflow.org", "TrainJob"): TrainJobView,
    ("trainer.kubeflow.org", "TrainingRuntime"): JobSetView,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): JobSetView,
}

#: The kinds that have a view here.
OTHER_KINDS = tuple(kind for _, kind in _VIEWS)


def other_workload(document: Mapping[Any, Any]) -> WorkloadView | None:
    """Return the view of a document by its kind and the group of its API; None for every other kind."""
    group = str(document.get("apiVersion")).partition("/")[0]
    view = _VIEWS.get((group, str(document.get("kind"))))
    return view(document=document) if view else None
