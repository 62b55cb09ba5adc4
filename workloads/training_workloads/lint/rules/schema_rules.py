"""Fields and types: a job against the definition of its kind, the pod templates against the schemas of Kubernetes.

The API server drops an unknown field, or rejects the object; the lint finds both before.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from training_workloads.lint.job_schemas import POD_TEMPLATE
from training_workloads.lint.kind_schemas import schema_of, validator_of
from training_workloads.lint.misplaced import UnknownField, unknown_fields
from training_workloads.lint.rule import Found, error, found_of
from training_workloads.manifests.schema_problems import SchemaProblem, schema_problems
from training_workloads.manifests.values import is_placeholder, mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.api import API_VERSION, KIND
from training_workloads.validation import Path, dotted

__all__ = ["fix_of", "is_of_training_operator", "problems_of"]

# Longer lists are not shown.
_READABLE = 160

_VALIDATION = "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation"


@error(
    "The operator v2 serves no other; earlier ones have other fields ([API]("
    "https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go))"
)
def api_version(workload: WorkloadView) -> Iterator[Found]:
    """An MPIJob of another version of the API, whose fields are others and which the operator v2 does not serve."""
    version = workload.document.get("apiVersion")
    if workload.kind != KIND or version == API_VERSION or is_placeholder(version):
        return
    problem = "is missing" if version is None else f"is {version!r}, which the MPI operator v2 does not read"
    unknown = unknown_fields(KIND, workload.document)
    moved = [f"{dotted(field.path)} to {dotted(field.meant)}" for field in unknown if field.meant]
    fields = f": move {', '.join(moved)}" if moved and len(", ".join(moved)) < _READABLE else ""
    yield Found(("apiVersion",), problem, f"write {API_VERSION} and that version's fields{fields}")


def is_of_another_project(document: Mapping[Any, Any]) -> bool:
    """Return whether an object with the kind MPIJob is one of another API, such as that of another operator."""
    version = document.get("apiVersion")
    group, slash, _ = version.partition("/") if isinstance(version, str) else ("", "", "")
    # A group with a typing mistake is one of this kind.
    return document.get("kind") == KIND and bool(slash) and "kube" not in group and not is_placeholder(version)


def is_of_training_operator(document: Mapping[Any, Any]) -> bool:
    """Return whether an MPIJob is for the training operator v1, by its version and its fields.

    https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/apis/kubeflow.org/v1/mpi_types.go
    """
    is_first = document.get("kind") == KIND and document.get("apiVersion") == "kubeflow.org/v1"
    return is_first and not _ONLY_V2 & set(mapping(document.get("spec")))


# Fields of v2beta1 that no v1 has.
_ONLY_V2 = {"sshAuthMountPath", "launcherCreationPolicy", "mpiImplementation", "runLauncherAsWorker"}


@error(f"The API server rejects them, or drops them without a warning ([field validation]({_VALIDATION}))")
def mpi_job_fields(workload: WorkloadView) -> Iterator[Found]:
    """Unknown or misspelled fields of the MPIJob, values of another type, values out of range."""
    if workload.kind == KIND:
        yield from problems_of(KIND, dict(workload.document), ())


@error(f"The API server rejects them, or drops them without a warning ([field validation]({_VALIDATION}))")
def job_fields(workload: WorkloadView) -> Iterator[Found]:
    """The same of a Job, JobSet, PyTorchJob, TFJob, TrainJob or training runtime."""
    if workload.kind != KIND and schema_of(workload.kind):
        yield from problems_of(workload.kind, dict(workload.document), ())


@error(f"The operator cannot create the pods, or creates others ([field validation]({_VALIDATION}))")
def pod_template_fields(workload: WorkloadView) -> Iterator[Found]:
    """The same in the pods' templates, by the newest Kubernetes of a cluster."""
    for pods in workload.written_groups:
        yield from problems_of(POD_TEMPLATE, dict(pods.template), pods.template_path)


@error(f"The API server rejects them, or drops them with all that is in them ([field validation]({_VALIDATION}))")
def unknown_field(workload: WorkloadView) -> Iterator[Found]:
    """A field that is not known where it is, such as one that is misspelled or belongs elsewhere."""
    seen: set[tuple[Path, Path]] = set()
    for field in unknown_fields(workload.kind, dict(workload.document)):
        # Where a level is left out, the first field of it stands for the others.
        moved = (field.path[:-1], field.meant[:-1]) if field.meant and field.meant[-1] == field.path[-1] else None
        if moved not in seen:
            yield Found(field.path, "is not a field here, and is rejected or dropped without a warning", fix_of(field))
        seen |= {moved} if moved and field.path[-1] in _LEVELS else set()


# A pod's spec without its level has them.
_LEVELS = ("containers", "initContainers", "volumes", "nodeSelector", "securityContext", "tolerations", "affinity")


def fix_of(field: UnknownField) -> str:
    """Return what to do about a field that is not known where it is."""
    name = str(field.path[-1])
    if field.meant and field.meant[-1] == name:
        return f"move it to {dotted(field.meant[:-1]) or 'the top level'}"
    known = f"known: {', '.join(sorted(field.known))}"
    # The names of all fields of a pod do not help.
    listed = known if len(known) < _READABLE else ""
    return f"did you mean {field.meant[-1]}? {listed}".rstrip() if field.meant else listed or "remove it"


def problems_of(kind: str, value: Any, root: Path) -> Iterator[Found]:
    """Yield the values that the schema of a kind rejects, without its unknown fields."""
    for problem in schema_problems(validator_of(kind), value, root):
        if not is_placeholder(problem.given, capitals=_is_one_value(problem)):
            yield found_of(problem)


def _is_one_value(problem: SchemaProblem) -> bool:
    """Return whether a number or the like is wanted: of words, and of their lists, some are in capital letters."""
    types = problem.wanted if isinstance(problem.wanted, list) else [problem.wanted]
    return problem.keyword != "enum" and "array" not in types and "object" not in types
