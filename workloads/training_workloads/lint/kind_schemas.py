"""The schemas of documents: Kubernetes' own, our definition of MPIJobs, and what is certain of other kinds of jobs.

A pod template is a separate part (`POD_TEMPLATE`): every kind of job has one, and the rules on pods check it.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import referencing

from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.lint.job_schemas import JOB_SCHEMAS, JOB_SPEC, OBJECT_META, POD_TEMPLATE, QUANTITY
from training_workloads.manifests.schema_problems import AMOUNT_SCHEMA, NUMBER_OR_TEXT, validator_of_schema
from training_workloads.mpijob.api import KIND
from training_workloads.mpijob.definition import mpi_job_schema
from training_workloads.mpijob.pod_schema import json_schema

__all__ = ["fields_of", "is_closed", "items_of", "required_of", "schema_of", "types_of", "validator_of"]

_DEFINITIONS = "/api/_definitions.json#/$defs/"
_BASE = "https://kubernetes.io/api/lint/"

# Kinds whose whole schema is Kubernetes' own.
_STORAGE_SCHEMAS = {
    "PersistentVolume": "io.k8s.api.core.v1.PersistentVolume",
    "PersistentVolumeClaim": "io.k8s.api.core.v1.PersistentVolumeClaim",
    "StorageClass": "io.k8s.api.storage.v1.StorageClass",
}


@cache
def schema_of(kind: str) -> Any:
    """Return the schema of a kind of document, or of `POD_TEMPLATE`; None where nothing is known of the kind."""
    if kind in _STORAGE_SCHEMAS:
        return {"$ref": _DEFINITIONS + _STORAGE_SCHEMAS[kind]}
    if kind == KIND:
        return _mpi_job()
    return {"$ref": POD_TEMPLATE} if kind == POD_TEMPLATE else JOB_SCHEMAS.get(kind)


@cache
def validator_of(kind: str) -> Any:
    """Return the validator of a kind of document, or of `POD_TEMPLATE`, for `schema_problems`."""
    return validator_of_schema({"$id": _BASE + kind, **schema_of(kind)}, _registry(kind))


def fields_of(schema: Any) -> Mapping[str, Any]:
    """Return the schemas of an object's fields; empty without fixed fields."""
    found: Mapping[str, Any] = _resolved(schema).get("properties") or {}
    return found


def is_closed(schema: Any) -> bool:
    """Return whether an object has no fields but those of its schema."""
    return _resolved(schema).get("additionalProperties") is False


def required_of(schema: Any) -> Sequence[str]:
    """Return the names of the fields that an object needs."""
    found: Sequence[str] = _resolved(schema).get("required", ())
    return found


def items_of(schema: Any) -> Any:
    """Return the schema of a list's items, or of a mapping's values; empty where they may be anything."""
    resolved = _resolved(schema)
    values = resolved.get("additionalProperties")
    return resolved.get("items") or (values if isinstance(values, dict) else {})


def types_of(schema: Any) -> set[str]:
    """Return the names of the types that a schema allows; empty where any is allowed."""
    resolved = _resolved(schema)
    choices = [*resolved.get("oneOf", ()), *resolved.get("anyOf", ()), resolved]
    named = [choice.get("type", ()) for choice in choices]
    return {name for each in named for name in ([each] if isinstance(each, str) else each)}


def _resolved(schema: Any) -> Any:
    while "$ref" in schema:
        reference = schema["$ref"]
        schema = _named()[reference] if reference in _named() else _definitions()[reference.removeprefix(_DEFINITIONS)]
    return schema


@cache
def _named() -> dict[str, Any]:
    """Return the parts of our schemas that are Kubernetes' own."""
    job = _definitions()["io.k8s.api.batch.v1.JobSpec"]
    return {
        POD_TEMPLATE: _definitions()["io.k8s.api.core.v1.PodTemplateSpec"],
        OBJECT_META: _definitions()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"],
        JOB_SPEC: job | {"properties": job["properties"] | {"template": {"$ref": POD_TEMPLATE}}},
        QUANTITY: AMOUNT_SCHEMA,
    }


@cache
def _definitions() -> dict[str, Any]:
    # Only its files are used, and its import takes as long as all rules do.
    package = find_spec("kubernetes_validate")
    if package is None or not package.origin:
        raise ModuleNotFoundError("No module named 'kubernetes_validate'", name="kubernetes_validate")
    schemas = Path(package.origin).with_name("kubernetes-json-schema")
    (file,) = schemas.glob(f"v{KUBERNETES_VERSIONS[-1]}.*-local-strict/_definitions.json")
    # Parts are used outside of their file too. As text: `schema_contents` would parse its 2 MB a second time.
    text = file.read_text(encoding="utf-8").replace('"#/$defs/', f'"{_DEFINITIONS}')
    found: dict[str, Any] = json.loads(text)["$defs"]
    return found | {
        "io.k8s.apimachinery.pkg.api.resource.Quantity": AMOUNT_SCHEMA,
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": NUMBER_OR_TEXT,
    }


@cache
def _registry(kind: str) -> Any:
    """Return the parts; the pods' templates of a job are objects whose fields the rules on pods check."""
    parts = _named() if kind == POD_TEMPLATE else _named() | {POD_TEMPLATE: {"type": "object"}}
    contents = [{"$id": f"https://kubernetes.io{name}", **part} for name, part in parts.items()]
    contents.append({"$id": "https://kubernetes.io/api/_definitions.json", "$defs": _definitions()})
    registry: Any = referencing.Registry()
    for one in contents:
        document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **one}
        registry = referencing.Resource.from_contents(document) @ registry
    return registry


def _mpi_job() -> Any:
    schema = _closed(json_schema(mpi_job_schema({"$ref": POD_TEMPLATE})))
    # The API server writes the status itself.
    schema["properties"] |= {"metadata": {"$ref": OBJECT_META}, "status": {}}
    return schema


def _closed(schema: Any) -> Any:
    """Return the schema with no other fields allowed."""
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    return closed if is_open or "properties" not in schema else closed | {"additionalProperties": False}
