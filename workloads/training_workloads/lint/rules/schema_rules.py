"""Fields and types: the MPIJob against its definition, the pod templates against the schemas of Kubernetes.

The API server drops an unknown field, or rejects the object; the lint finds both before.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import jsonschema
import referencing
from kubernetes_validate import utils as kubernetes

from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.lint.rule import Found, error
from training_workloads.manifests.values import is_placeholder
from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import Path, known_names

# Longer lists and values are not shown.
_READABLE = 160

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text, in quotes",
    "boolean": "true or false",
    "object": "a mapping of names to values",
    "array": "a list",
}


@error("The API server rejects them, or drops them without a warning")
def mpi_job_fields(job: MpiJobView) -> Iterator[Found]:
    """Unknown or misspelled fields of the MPIJob, values of another type, values out of range."""
    # The API server treats a null as a missing field.
    yield from _problems(_mpi_job_validator(), _without_nulls(dict(job.document)), ())


@error("The operator cannot create the pods, or creates others")
def pod_template_fields(job: MpiJobView) -> Iterator[Found]:
    """The same in the pods' templates, by the newest Kubernetes of a cluster."""
    for replica in job.replicas:
        template = replica.content.get("template")
        if isinstance(template, dict):
            yield from _problems(_pod_template_validator(), template, (*replica.path, "template"))


@cache
def _mpi_job_validator() -> Any:
    (version,) = mpi_job_definition()["spec"]["versions"]
    schema = _closed(version["schema"]["openAPIV3Schema"])
    # The API server writes the status itself, and checks the metadata by other rules.
    schema["properties"] |= {"metadata": {"type": "object"}, "status": {}}
    for role in schema["properties"]["spec"]["properties"]["mpiReplicaSpecs"]["properties"].values():
        # The next rule compares it with the schema of Kubernetes.
        role["properties"]["template"] = {"type": "object"}
    return jsonschema.Draft202012Validator(schema)


@cache
def _pod_template_validator() -> Any:
    newest = next(one for one in kubernetes.all_versions() if kubernetes.major_minor(one) == KUBERNETES_VERSIONS[-1])
    folder = f"kubernetes-json-schema/v{newest}-local-strict"
    schema = kubernetes.schema_contents(f"{folder}/podtemplatespec-v1.json", newest)
    definitions = kubernetes.schema_contents(f"{folder}/_definitions.json", newest)
    registry: Any = referencing.Registry()
    for contents in (schema, definitions):
        registry = referencing.Resource.from_contents(contents) @ registry
    return jsonschema.Draft202012Validator(schema, registry=registry)


def _closed(schema: Any) -> Any:
    """Return the schema with no other fields allowed."""
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items() if key != "default"}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    return closed if is_open or "properties" not in schema else closed | {"additionalProperties": False}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _problems(validator: Any, document: Any, root: Path) -> Iterator[Found]:
    found: dict[Found, None] = {}
    for violation in validator.iter_errors(document):
        if is_placeholder(violation.instance):
            continue
        path = (*root, *map(_step, violation.absolute_path))
        explain = _EXPLANATIONS.get(violation.validator, _other)
        found |= dict.fromkeys(explain(violation, path))
    yield from found


def _step(key: Any) -> str | int:
    return key if isinstance(key, int) and not isinstance(key, bool) else _key(key)


def _key(key: Any) -> str:
    """Return a key as Kubernetes reads it, which makes JSON of YAML first."""
    return json.dumps(key) if key is None or isinstance(key, bool) else str(key)


def _unknown_field(violation: Any, path: Path) -> Iterable[Found]:
    known = sorted(violation.schema["properties"])
    for key in violation.instance:
        if key not in known:
            name = _key(key)
            fix = known_names(name, known)
            # The names of all fields of a pod do not help.
            fix = fix if "did you mean" in fix or len(fix) < _READABLE else "remove it"
            yield Found((*path, name), "is not a field here, and is rejected or dropped without a warning", fix)


def _wrong_type(violation: Any, path: Path) -> Iterable[Found]:
    wanted = violation.validator_value if isinstance(violation.validator_value, list) else [violation.validator_value]
    yield Found(path, _given(violation), f"give {_TYPES.get(wanted[0], wanted[0])}")


def _number_or_text(violation: Any, path: Path) -> Iterable[Found]:
    yield Found(path, _given(violation), "give a number or a text")


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
    yield Found(path, _given(violation), f"give {violation.validator_value} or fewer")


def _no_amount(violation: Any, path: Path) -> Iterable[Found]:
    # No other text of the definition has a form, apart from the status.
    yield Found(path, _given(violation), "give an amount such as 4, 500m or 512Mi")


def _other(violation: Any, path: Path) -> Iterable[Found]:
    yield Found(path, _given(violation), f"give what fits {violation.validator}: {violation.validator_value}")


def _given(violation: Any) -> str:
    shown = repr(violation.instance)
    if isinstance(violation.instance, dict | list):
        return "is a mapping" if isinstance(violation.instance, dict) else "is a list"
    return f"is {shown if len(shown) < _READABLE else 'a long text'}"


_EXPLANATIONS: dict[str, Callable[[Any, Path], Iterable[Found]]] = {
    "additionalProperties": _unknown_field,
    "type": _wrong_type,
    "oneOf": _number_or_text,
    "anyOf": _number_or_text,
    "enum": _unknown_value,
    "required": _missing_field,
    "minimum": _too_small,
    "maximum": _too_large,
    "pattern": _no_amount,
}
