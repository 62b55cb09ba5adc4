"""Validate manifests against the Kubernetes schemas, MPIJobs against this project's definition, and TrainJobs."""

from functools import cache
from typing import Any
from unittest import mock

import jsonschema
import kubernetes_validate
from kubernetes_validate import utils

from tests.train_job_definition import TRAIN_JOB_SCHEMA
from tests.workloads.mpijob.api_server import pruned
from training_workloads.catalog.versions import KUBERNETES_VERSIONS
from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.mpijob.pod_schema import pod_template_schema

# The oldest and the newest Kubernetes release of a cluster.
VERSIONS = (KUBERNETES_VERSIONS[0], KUBERNETES_VERSIONS[-1])

# `validate` reads the definitions of a release, 2 MB, for each object.
_schema_contents = cache(utils.schema_contents)


def check_manifest(document: dict[str, Any]) -> None:
    """Raise unless the document is valid for every Kubernetes version of a cluster and has no unknown field."""
    if document["kind"] == "MPIJob":
        check_mpi_job(document)
    elif document["kind"] == "TrainJob":
        check_train_job(document)
    else:
        check_object(document)


def check_object(document: dict[str, Any]) -> None:
    """Raise unless Kubernetes knows the object and each of its fields."""
    with mock.patch.object(utils, "schema_contents", _schema_contents):
        for version in VERSIONS:
            kubernetes_validate.validate(document, version, strict=True)


def check_mpi_job(job: dict[str, Any]) -> None:
    """Raise unless the job matches the definition, and its pod templates match Kubernetes' schema."""
    api_version, validator = _definition()
    assert job["apiVersion"] == api_version
    validator.validate(job)
    for role in job["spec"]["mpiReplicaSpecs"].values():
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": role["template"]}
        check_object(template)
        # Under a definition without defaults Kueue starts no job that omits a field with one.
        assert pruned(pod_template_schema(), role["template"]) == role["template"]


def check_train_job(job: dict[str, Any]) -> None:
    """Raise unless the job matches its definition, and what it changes of a pod matches Kubernetes' schema."""
    jsonschema.Draft202012Validator(TRAIN_JOB_SCHEMA).validate(job)
    trainer = job["spec"]["trainer"]
    for patch in job["spec"]["runtimePatches"]:
        for each in patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]:
            template = each["template"]["spec"]["template"]
            own = {name: trainer[name] for name in ("image", "command", "env")}
            containers = [
                {**container, **own, "resources": trainer["resourcesPerNode"]}
                for container in template["spec"]["containers"]
            ]
            whole = {**template, "spec": {**template["spec"], "containers": containers}}
            check_object({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}, "template": whole})


@cache
def _definition() -> tuple[str, jsonschema.Draft202012Validator]:
    """Return the version of MPIJobs and their schema, whose own check takes a second."""
    version = mpi_job_definition()["spec"]["versions"][0]
    schema = _reject_unknown_fields(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    jsonschema.Draft202012Validator.check_schema(schema)
    return f"kubeflow.org/{version['name']}", jsonschema.Draft202012Validator(schema)


def _reject_unknown_fields(schema: Any) -> Any:
    """Return a schema that rejects the unknown fields that the API server would drop."""
    if not isinstance(schema, dict):
        return schema
    closed = {key: _reject_unknown_fields(value) for key, value in schema.items() if key != "default"}
    keeps_unknown = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if "properties" in schema and not keeps_unknown:
        closed["additionalProperties"] = False
    return closed
