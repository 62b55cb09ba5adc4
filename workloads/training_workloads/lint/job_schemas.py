"""The known fields of other kinds of jobs, as JSON schemas; fields that are not named here may exist.

Sources: https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/apis/kubeflow.org/v1 (PyTorchJob, TFJob),
https://github.com/kubeflow/trainer/blob/v2.1.0/pkg/apis/trainer/v1alpha1 (TrainJob and its runtimes),
https://github.com/kubernetes-sigs/jobset/blob/v0.10.1/api/jobset/v1alpha2/jobset_types.go (JobSet).
"""

from typing import Any

from training_workloads.manifests.schema_problems import NUMBER_OR_TEXT

__all__ = ["JOB_SCHEMAS", "JOB_SPEC", "OBJECT_META", "POD_TEMPLATE", "QUANTITY"]

#: Names of parts that `lint.kind_schemas` has.
POD_TEMPLATE = "/api/lint/pod-template"
JOB_SPEC = "/api/lint/job-spec"
OBJECT_META = "/api/lint/object-meta"
QUANTITY = "/api/lint/quantity"


def _object(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields} | ({"required": list(required)} if required else {})


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _enum(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _job(spec: dict[str, Any]) -> dict[str, Any]:
    return _object("spec", apiVersion=_TEXT, kind=_TEXT, metadata={"$ref": OBJECT_META}, spec=spec, status={})


_TEXT = {"type": "string"}
_YES_OR_NO = {"type": "boolean"}
_COUNT = {"type": "integer", "format": "int32", "minimum": 0}
_AMOUNTS = _map({"$ref": QUANTITY})
_RESOURCES = _object(requests=_AMOUNTS, limits=_AMOUNTS, claims={})
_VARIABLES = _list(_object("name", name=_TEXT, value=_TEXT, valueFrom={}))

_RUN_POLICY = _object(
    cleanPodPolicy=_enum("All", "Running", "None"),
    ttlSecondsAfterFinished=_COUNT,
    activeDeadlineSeconds={"type": "integer", "format": "int64"},
    backoffLimit=_COUNT,
    suspend=_YES_OR_NO,
    managedBy=_TEXT,
    schedulingPolicy=_object(
        minAvailable=_COUNT, queue=_TEXT, minResources=_AMOUNTS, priorityClass=_TEXT, scheduleTimeoutSeconds=_COUNT
    ),
)

_REPLICA = _object(
    replicas=_COUNT, restartPolicy=_enum("Always", "OnFailure", "Never", "ExitCode"), template={"$ref": POD_TEMPLATE}
)


def _replicas(*roles: str) -> dict[str, Any]:
    return _object(**dict.fromkeys(roles, _REPLICA)) | {"additionalProperties": False}


_PYTORCH_JOB = _object(
    "pytorchReplicaSpecs",
    pytorchReplicaSpecs=_replicas("Master", "Worker"),
    runPolicy=_RUN_POLICY,
    elasticPolicy={"type": "object"},
    nprocPerNode=_TEXT,
)

_TF_JOB = _object(
    "tfReplicaSpecs",
    tfReplicaSpecs=_replicas("Chief", "Master", "Worker", "PS", "Evaluator"),
    runPolicy=_RUN_POLICY,
    successPolicy=_TEXT,
    enableDynamicWorker=_YES_OR_NO,
)

_JOB_SET = _object(
    replicatedJobs=_list(
        _object(
            "name",
            name=_TEXT,
            groupName=_TEXT,
            replicas=_COUNT,
            dependsOn=_list({"type": "object"}),
            template=_object(metadata={"$ref": OBJECT_META}, spec={"$ref": JOB_SPEC}),
        )
    ),
    network=_object(enableDNSHostnames=_YES_OR_NO, subdomain=_TEXT, publishNotReadyAddresses=_YES_OR_NO),
    successPolicy=_object("operator", operator=_enum("All", "Any"), targetReplicatedJobs=_list(_TEXT)),
    failurePolicy=_object(maxRestarts=_COUNT, restartStrategy=_TEXT, rules=_list({"type": "object"})),
    startupPolicy=_object("startupPolicyOrder", startupPolicyOrder=_enum("AnyOrder", "InOrder")),
    suspend=_YES_OR_NO,
    managedBy=_TEXT,
    ttlSecondsAfterFinished=_COUNT,
)

_TRAIN_JOB = _object(
    "runtimeRef",
    runtimeRef=_object("name", name=_TEXT, apiGroup=_TEXT, kind=_enum("TrainingRuntime", "ClusterTrainingRuntime")),
    trainer=_object(
        image=_TEXT,
        command=_list(_TEXT),
        args=_list(_TEXT),
        env=_VARIABLES,
        numNodes={"type": "integer", "format": "int32"},
        resourcesPerNode=_RESOURCES,
        numProcPerNode=NUMBER_OR_TEXT,
    )
    | {"additionalProperties": False},
    initializer={"type": "object"},
    # The name has changed twice.
    runtimePatches=_list({"type": "object"}),
    podTemplateOverrides=_list({"type": "object"}),
    podSpecOverrides=_list({"type": "object"}),
    labels=_map(_TEXT),
    annotations=_map(_TEXT),
    suspend=_YES_OR_NO,
    managedBy=_TEXT,
)

_RUNTIME = _object(
    "template",
    mlPolicy=_object(numNodes=_COUNT, torch={"type": "object"}, mpi={"type": "object"}),
    podGroupPolicy={"type": "object"},
    template=_object("spec", metadata={"$ref": OBJECT_META}, spec=_JOB_SET),
)

#: The schema of each kind.
JOB_SCHEMAS = {
    "Job": _job({"$ref": JOB_SPEC}),
    "JobSet": _job(_JOB_SET),
    "PyTorchJob": _job(_PYTORCH_JOB),
    "TFJob": _job(_TF_JOB),
    "TrainJob": _job(_TRAIN_JOB),
    "TrainingRuntime": _job(_RUNTIME),
    "ClusterTrainingRuntime": _job(_RUNTIME),
}
