"""The CustomResourceDefinition (CRD) of MPIJobs: v2beta1 with every field typed, those of the pod templates too.

One job that the operator's Go types cannot decode stops the operator for every namespace: it lists all jobs at once. So
whatever this definition accepts, those types decode (docs/adr/0018-the-definition-types-the-pod-templates.md). The
definition that the operator's project releases does so too, but is 670 kB, too much for client-side `kubectl apply`.
Fields: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

from typing import Any, get_args

from training_workloads.mpijob.api import (
    API_VERSION,
    KIND,
    CleanPodPolicy,
    Controller,
    LauncherCreationPolicy,
    MpiImplementation,
    RestartPolicy,
)
from training_workloads.mpijob.bounds import DEADLINE_SECONDS, ENTRIES, LAUNCHERS, SLOTS, WORKERS
from training_workloads.mpijob.pod_schema import (
    QUANTITY,
    STRING,
    TIME,
    bounded,
    integer,
    label_selector_schema,
    pod_template_schema,
)

__all__ = ["mpi_job_definition", "mpi_job_schema"]

_GROUP, _VERSION = API_VERSION.split("/")

# The operator gives an empty value its default: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/default.go
_BY_DEFAULT = ""


def mpi_job_definition() -> dict[str, Any]:
    """Return the definition, without `apiVersion` and `kind`."""
    names = {"kind": KIND, "listKind": f"{KIND}List", "plural": "mpijobs", "singular": "mpijob"}
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": mpi_job_schema(pod_template_schema())},
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


def mpi_job_schema(template: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an MPIJob in the definition.

    Args:
        template: The schema of a pod template.
    """
    return _object(
        {
            "apiVersion": STRING,
            "kind": STRING,
            "metadata": {"type": "object"},
            "spec": _spec(template),
            "status": _status(),
        }
    )


def _spec(template: dict[str, Any]) -> dict[str, Any]:
    launcher = _replica_spec(integer(32, 1, 1), template)
    worker = _replica_spec(bounded(32, 1, WORKERS), template)
    return _object(
        {
            "slotsPerWorker": bounded(32, 0, SLOTS) | {"default": 1},
            "runLauncherAsWorker": {"type": "boolean", "default": False},
            "sshAuthMountPath": STRING | {"default": "/root/.ssh"},
            "launcherCreationPolicy": _enum(*get_args(LauncherCreationPolicy), _BY_DEFAULT, default="AtStartup"),
            "mpiImplementation": _enum(*get_args(MpiImplementation), default="OpenMPI"),
            "runPolicy": _run_policy(),
            "mpiReplicaSpecs": _object({"Launcher": launcher, "Worker": worker}, required=["Launcher"]),
        },
        required=["mpiReplicaSpecs"],
    )


def _replica_spec(replicas: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    return _object(
        {
            "replicas": replicas,
            "restartPolicy": _enum(*get_args(RestartPolicy), _BY_DEFAULT),
            "template": template,
        }
    )


def _run_policy() -> dict[str, Any]:
    scheduling_policy = _object(
        {
            "minAvailable": integer(32, 0),
            "queue": STRING,
            "minResources": {"type": "object", "maxProperties": ENTRIES.most, "additionalProperties": QUANTITY},
            "priorityClass": STRING,
            "scheduleTimeoutSeconds": integer(32, 0),
        }
    )
    return _object(
        {
            "cleanPodPolicy": _enum(*get_args(CleanPodPolicy)),
            "ttlSecondsAfterFinished": integer(32, 0),
            "activeDeadlineSeconds": bounded(64, 0, DEADLINE_SECONDS),
            "backoffLimit": bounded(32, 0, LAUNCHERS),
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
            "reason": STRING,
            "message": STRING,
            "lastUpdateTime": TIME,
            "lastTransitionTime": TIME,
        },
        required=["type", "status"],
    )
    replica_status = _object(
        {
            "active": integer(32, 0),
            "succeeded": integer(32, 0),
            "failed": integer(32, 0),
            # Deprecated in favour of `selector`, still written.
            "labelSelector": label_selector_schema(),
            "selector": STRING,
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
            "startTime": TIME,
            "completionTime": TIME,
            "lastReconcileTime": TIME,
        }
    )
