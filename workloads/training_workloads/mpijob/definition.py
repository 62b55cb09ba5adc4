"""The CustomResourceDefinition (CRD) of MPIJobs: v2beta1 with every field typed, pod templates checked by Kubernetes.

The definition that the operator's project releases is 670 kB because it repeats the whole pod schema; this one fits
client-side `kubectl apply` and rejects what the operator would only report later.
Fields: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

from typing import Any, get_args

from training_workloads.mpijob.spec import (
    API_VERSION,
    KIND,
    CleanPodPolicy,
    Controller,
    LauncherCreationPolicy,
    MpiImplementation,
    RestartPolicy,
)

__all__ = ["mpi_job_definition"]

_GROUP, _VERSION = API_VERSION.split("/")


def mpi_job_definition() -> dict[str, Any]:
    """Return the definition, without `apiVersion` and `kind`."""
    names = {"kind": KIND, "listKind": f"{KIND}List", "plural": "mpijobs", "singular": "mpijob"}
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _mpi_job()},
        "additionalPrinterColumns": [
            # One for each, because the last in the list need not be the one that is true.
            *(_condition_column(kind) for kind in ("Running", "Suspended", "Succeeded", "Failed")),
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
    }
    return {
        "metadata": {"name": f"mpijobs.{_GROUP}"},
        "spec": {"group": _GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def _condition_column(kind: str) -> dict[str, Any]:
    return {"name": kind, "type": "string", "jsonPath": f'.status.conditions[?(@.type=="{kind}")].status'}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _enum(*values: str, default: str | None = None) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)} | ({"default": default} if default else {})


def _integer(minimum: int, bits: int = 32, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "format": f"int{bits}", "minimum": minimum, **more}


_STRING = {"type": "string"}
_DATE = {"type": "string", "format": "date-time"}
_ANY_OBJECT = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _mpi_job() -> dict[str, Any]:
    return _object(
        {
            "apiVersion": _STRING,
            "kind": _STRING,
            "metadata": {"type": "object"},
            "spec": _spec(),
            "status": _status(),
        }
    )


def _spec() -> dict[str, Any]:
    launcher = _replica_spec(minimum=1, maximum=1)
    worker = _replica_spec(minimum=1)
    return _object(
        {
            "slotsPerWorker": _integer(0, default=1),
            "runLauncherAsWorker": {"type": "boolean", "default": False},
            "sshAuthMountPath": {"type": "string", "minLength": 1, "default": "/root/.ssh"},
            "launcherCreationPolicy": _enum(*get_args(LauncherCreationPolicy), default="AtStartup"),
            "mpiImplementation": _enum(*get_args(MpiImplementation), default="OpenMPI"),
            "runPolicy": _run_policy(),
            "mpiReplicaSpecs": _object({"Launcher": launcher, "Worker": worker}, required=["Launcher"]),
        },
        required=["mpiReplicaSpecs"],
    )


def _replica_spec(**replicas: int) -> dict[str, Any]:
    return _object(
        {
            "replicas": {"type": "integer", "format": "int32", **replicas},
            "restartPolicy": _enum(*get_args(RestartPolicy)),
            "template": _ANY_OBJECT,
        }
    )


def _run_policy() -> dict[str, Any]:
    # An integer or a string like "5Gi".
    quantity = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    scheduling_policy = _object(
        {
            "minAvailable": _integer(0),
            "queue": _STRING,
            "minResources": {"type": "object", "additionalProperties": quantity},
            "priorityClass": _STRING,
            "scheduleTimeoutSeconds": _integer(0),
        }
    )
    return _object(
        {
            "cleanPodPolicy": _enum(*get_args(CleanPodPolicy)),
            "ttlSecondsAfterFinished": _integer(0),
            "activeDeadlineSeconds": _integer(0, bits=64),
            "backoffLimit": _integer(0),
            "suspend": {"type": "boolean", "default": False},
            "managedBy": _enum(*get_args(Controller)),
            "schedulingPolicy": scheduling_policy,
        }
    )


def _status() -> dict[str, Any]:
    condition = _object(
        {
            "type": _enum("Created", "Running", "Restarting", "Succeeded", "Suspended", "Failed"),
            "status": _enum("True", "False", "Unknown"),
            "reason": _STRING,
            "message": _STRING,
            "lastUpdateTime": _DATE,
            "lastTransitionTime": _DATE,
        },
        required=["type", "status"],
    )
    replica_status = _object(
        {
            "active": _integer(0),
            "succeeded": _integer(0),
            "failed": _integer(0),
            # Deprecated in favour of `selector`, still written.
            "labelSelector": _ANY_OBJECT,
            "selector": _STRING,
        }
    )
    return _object(
        {
            "conditions": {
                "type": "array",
                "items": condition,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
            "replicaStatuses": {"type": "object", "additionalProperties": replica_status},
            "startTime": _DATE,
            "completionTime": _DATE,
            "lastReconcileTime": _DATE,
        }
    )
