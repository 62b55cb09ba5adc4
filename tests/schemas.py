"""Checks manifests against the Kubernetes schemas, and MPIJobs against the definition that we install."""

from typing import Any

import jsonschema
import kubernetes_validate

from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.mpijob.definition import mpi_job_definition

# The oldest and the newest that a cluster can have.
VERSIONS = (KUBERNETES_VERSIONS[0], KUBERNETES_VERSIONS[-1])


def check_manifest(document: dict[str, Any]) -> None:
    """Raises unless the document is valid for every Kubernetes version of a cluster, unknown fields included."""
    if document["kind"] == "MPIJob":
        check_mpi_job(document)
    else:
        check_object(document)


def check_object(document: dict[str, Any]) -> None:
    """Raises unless Kubernetes itself knows the object and each of its fields."""
    for version in VERSIONS:
        kubernetes_validate.validate(document, version, strict=True)


def check_mpi_job(job: dict[str, Any]) -> None:
    """Raises unless the job fits the definition, and its pod templates fit Kubernetes."""
    version = mpi_job_definition()["spec"]["versions"][0]
    assert job["apiVersion"] == f"kubeflow.org/{version['name']}"
    schema = _refuse_unknown_fields(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    jsonschema.validate(job, schema)
    for role in job["spec"]["mpiReplicaSpecs"].values():
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": role["template"]}
        check_object(template)


def _refuse_unknown_fields(schema: Any) -> Any:
    """The API server drops fields that a structural schema does not name; here they are an error."""
    if not isinstance(schema, dict):
        return schema
    closed = {key: _refuse_unknown_fields(value) for key, value in schema.items() if key != "default"}
    keeps_unknown = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if "properties" in schema and not keeps_unknown:
        closed["additionalProperties"] = False
    return closed
