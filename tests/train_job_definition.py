"""The definition of TrainJobs, without its prose and its status: what the API server checks of one.

From manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml and pkg/apis/trainer/v1alpha1/trainjob_types.go of
https://github.com/kubeflow/trainer at commit 0f13bb7a01973a1717651000c746d634bd4161e9, read 2026-11-23: that of a later
state than release 2.2.0, which brought `runtimePatches`. Parts of a pod are checked by Kubernetes' own schemas.
"""

from typing import Any


def _object(*required: str, **fields: Any) -> dict[str, Any]:
    """Return the schema of an object; the API server drops fields that are not named here."""
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def _text(longest: int, shortest: int = 0) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest, "minLength": shortest}


def _list(items: Any, most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


_NUMBER = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
_OF_A_POD: dict[str, Any] = {"type": "object"}
_VARIABLES = _list(_object("name", name={"type": "string"}, value={"type": "string"}, valueFrom=_OF_A_POD), 128)
_WORDS = _list(_text(65536), 128)
_METADATA = {"type": "object", "properties": {"labels": _OF_A_POD, "annotations": _OF_A_POD}}
_NAME = _text(253, 1)

_CONTAINER = _object("name", name=_NAME, env=_VARIABLES, volumeMounts=_list(_OF_A_POD, 128), securityContext=_OF_A_POD)
_POD = _object(
    serviceAccountName=_text(253),
    volumes=_list(_OF_A_POD, 128),
    initContainers=_list(_CONTAINER, 64),
    containers=_list(_CONTAINER, 64),
    imagePullSecrets=_list(_OF_A_POD, 64),
    securityContext=_OF_A_POD,
    nodeSelector={"type": "object", "additionalProperties": {"type": "string"}},
    affinity=_OF_A_POD,
    tolerations=_list(_OF_A_POD, 128),
    schedulingGates=_list(_OF_A_POD, 16),
)
_REPLICATED_JOB = _object(
    "name",
    name=_NAME,
    template=_object(metadata=_METADATA, spec=_object(template=_object(metadata=_METADATA, spec=_POD))),
)
_PATCH = _object(
    "manager",
    manager=_NAME,
    time={"type": "string"},
    trainingRuntimeSpec=_object(
        template=_object(metadata=_METADATA, spec=_object(replicatedJobs=_list(_REPLICATED_JOB, 100)))
    ),
)

#: Schema of the whole object.
TRAIN_JOB_SCHEMA = _object(
    "apiVersion",
    "kind",
    "metadata",
    "spec",
    apiVersion={"const": "trainer.kubeflow.org/v1alpha1"},
    kind={"const": "TrainJob"},
    metadata={
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"}},
    },
    spec=_object(
        "runtimeRef",
        runtimeRef=_object("name", name=_NAME, apiGroup=_text(253), kind=_text(253)),
        initializer=_OF_A_POD,
        trainer=_object(
            image=_text(500),
            command=_WORDS,
            args=_WORDS,
            env=_VARIABLES,
            numNodes=_NUMBER,
            numProcPerNode=_NUMBER,
            resourcesPerNode=_object(claims=_list(_OF_A_POD, 10**6), limits=_OF_A_POD, requests=_OF_A_POD),
        ),
        runtimePatches=_list(_PATCH, 16),
        suspend={"type": "boolean"},
        activeDeadlineSeconds={"type": "integer", "minimum": 1, "maximum": 2**63 - 1},
        managedBy={"enum": ["trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"]},
    ),
)
