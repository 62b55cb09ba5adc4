"""Fields and types: a job against the definition of its kind, the pod templates against the schemas of Kubernetes.

The API server drops an unknown field, or rejects the object; the lint finds both before.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from training_workloads.lint.job_schemas import POD_TEMPLATE
from training_workloads.lint.kind_schemas import schema_of, validator_of
from training_workloads.lint.misplaced import UnknownField, field_name, unknown_fields
from training_workloads.lint.rule import Found, error
from training_workloads.manifests.values import is_placeholder, mapping
from training_workloads.manifests.workload import WorkloadView
from training_workloads.mpijob.spec import API_VERSION, KIND
from training_workloads.validation import Path, dotted, known_names

__all__ = ["fix_of", "is_of_training_operator", "problems_of"]

# Longer lists and values are not shown.
_READABLE = 160

_VALIDATION = "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation"

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text, in quotes",
    "boolean": "true or false",
    "object": "a mapping of names to values",
    "array": "a list",
}

_FORMATS = {
    "int32": "give a whole number from -2147483648 to 2147483647",
    "int64": "give a whole number of 64 bits",
    "quantity": "give a number, or one such as 5120Mi",
}


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
    """Yield the values that the schema of a kind rejects, in words, without its unknown fields."""
    found: dict[Found, None] = {}
    # The API server treats a null as a missing field.
    for violation in validator_of(kind).iter_errors(_without_nulls(value)):
        if not is_placeholder(violation.instance, capitals=_is_one_value(violation)):
            path = (*root, *map(_step, violation.absolute_path))
            found |= dict.fromkeys(_EXPLANATIONS.get(violation.validator, _other)(violation, path))
    yield from found


def _is_one_value(violation: Any) -> bool:
    """Return whether a number or the like is wanted: of words, and of their lists, some are in capital letters."""
    return violation.validator != "enum" and not {"array", "object"} & set(map(str, _wanted_types(violation)))


def _wanted_types(violation: Any) -> list[Any]:
    wanted = violation.validator_value
    return wanted if isinstance(wanted, list) else [wanted]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _step(key: Any) -> str | int:
    return key if isinstance(key, int) and not isinstance(key, bool) else field_name(key)


def _nothing(_: Any, __: Path) -> Iterable[Found]:
    """The rule on unknown fields finds them."""
    return ()


def _wrong_type(violation: Any, path: Path) -> Iterable[Found]:
    wanted = _wanted_types(violation)
    yield Found(path, _given(violation), f"give {_TYPES.get(wanted[0], wanted[0])}")


def _wrong_format(violation: Any, path: Path) -> Iterable[Found]:
    reason = ", which is not an amount" if violation.validator_value == "quantity" else ""
    yield Found(path, f"{_given(violation)}{reason}", _FORMATS[violation.validator_value])


def _number_or_text(violation: Any, path: Path) -> Iterable[Found]:
    # A text that is a wrong amount fails by its format.
    formats = [one for one in violation.context if one.validator == "format"]
    yield from (
        _wrong_format(formats[0], path) if formats else [Found(path, _given(violation), "give a number or a text")]
    )


def _unknown_value(violation: Any, path: Path) -> Iterable[Found]:
    allowed = [value for value in violation.validator_value if isinstance(value, str) and value]
    yield Found(path, _given(violation), known_names(str(violation.instance), allowed))


def _missing_field(violation: Any, path: Path) -> Iterable[Found]:
    for name in violation.validator_value:
        if name not in violation.instance:
            yield Found((*path, name), "is missing", "add it")


def _too_small(violation: Any, path: Path) -> Iterable[Found]:
    yield Found(path, _given(violation), f"give {violation.validator_value} or more")


def _too_large(violation: Any, path: Path) -> Iterable[Found]:
    reason = violation.schema.get("description")
    problem = f"{_given(violation)}, but {reason}" if reason else _given(violation)
    yield Found(path, problem, f"give {violation.validator_value} or fewer")


def _other(violation: Any, path: Path) -> Iterable[Found]:
    yield Found(path, _given(violation), f"give what fits {violation.validator}: {violation.validator_value}")


def _given(violation: Any) -> str:
    value = violation.instance
    # As YAML writes it: true, false, null.
    shown = json.dumps(value) if isinstance(value, bool) or value is None else repr(value)
    if isinstance(violation.instance, dict | list):
        return "is a mapping" if isinstance(violation.instance, dict) else "is a list"
    return f"is {shown if len(shown) < _READABLE else 'a long text'}"


_EXPLANATIONS: dict[str, Callable[[Any, Path], Iterable[Found]]] = {
    "additionalProperties": _nothing,
    "type": _wrong_type,
    "format": _wrong_format,
    "oneOf": _number_or_text,
    "anyOf": _number_or_text,
    "enum": _unknown_value,
    "required": _missing_field,
    "minimum": _too_small,
    "maximum": _too_large,
}
