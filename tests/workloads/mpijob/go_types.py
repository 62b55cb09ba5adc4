"""The Go types of an MPIJob as a table, and a decoder that follows Go's encoding/json, as in the operator.

The fields of a pod come from the models of the official Python client, which another generator made from Kubernetes'
OpenAPI. What the client does not say (64 bits, amounts) is from
https://github.com/kubernetes/api/blob/v0.35.0/core/v1/types.go, the rest from
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go .
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache
from typing import Any

from kubernetes.client import models

__all__ = ["decoding_errors", "parses_as_quantity", "pod_fields"]

STRUCTS = {
    "MPIJob": {"apiVersion": "string", "kind": "string", "spec": "MPIJobSpec", "status": "JobStatus"},
    "MPIJobSpec": {
        "slotsPerWorker": "int32",
        "runLauncherAsWorker": "bool",
        "runPolicy": "RunPolicy",
        "mpiReplicaSpecs": "map[string]ReplicaSpec",
        "sshAuthMountPath": "string",
        "launcherCreationPolicy": "string",
        "mpiImplementation": "string",
    },
    "ReplicaSpec": {"replicas": "int32", "template": "PodTemplateSpec", "restartPolicy": "string"},
    "RunPolicy": {
        "cleanPodPolicy": "string",
        "ttlSecondsAfterFinished": "int32",
        "activeDeadlineSeconds": "int64",
        "backoffLimit": "int32",
        "schedulingPolicy": "SchedulingPolicy",
        "suspend": "bool",
        "managedBy": "string",
    },
    "SchedulingPolicy": {
        "minAvailable": "int32",
        "queue": "string",
        "minResources": "map[string]Quantity",
        "priorityClass": "string",
        "scheduleTimeoutSeconds": "int32",
    },
    "JobStatus": {
        "conditions": "[]JobCondition",
        "replicaStatuses": "map[string]ReplicaStatus",
        "startTime": "Time",
        "completionTime": "Time",
        "lastReconcileTime": "Time",
    },
    "JobCondition": {
        "type": "string",
        "status": "string",
        "reason": "string",
        "message": "string",
        "lastUpdateTime": "Time",
        "lastTransitionTime": "Time",
    },
    "ReplicaStatus": {
        "active": "int32",
        "succeeded": "int32",
        "failed": "int32",
        "labelSelector": "LabelSelector",
        "selector": "string",
    },
}

QUANTITIES = {
    ("EmptyDirVolumeSource", "sizeLimit"): "Quantity",
    ("PodSpec", "overhead"): "map[string]Quantity",
    ("ResourceFieldSelector", "divisor"): "Quantity",
    ("ResourceRequirements", "limits"): "map[string]Quantity",
    ("ResourceRequirements", "requests"): "map[string]Quantity",
    ("VolumeResourceRequirements", "limits"): "map[string]Quantity",
    ("VolumeResourceRequirements", "requests"): "map[string]Quantity",
}
OBJECTS = {"port": "IntOrString", "fieldsV1": "any"}
NUMBERS_OF_64_BITS = {
    "activeDeadlineSeconds",
    "deletionGracePeriodSeconds",
    "expirationSeconds",
    "fsGroup",
    "generation",
    "runAsGroup",
    "runAsUser",
    "seconds",
    "supplementalGroups",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
}
SCALARS = {"str": "string", "bool": "bool", "datetime": "Time"}
# The client renamed two, because other API groups have types of the same name.
PREFIX = re.compile(r"^(Core)?V1")


@cache
def pod_fields(struct: str) -> dict[str, str]:
    """The fields of a struct of core/v1 or meta/v1 by name, each with its type in Go's words."""
    model = getattr(models, f"V1{struct}", None) or getattr(models, f"CoreV1{struct}")
    names = model.attribute_map
    return {names[key]: pod_type(struct, names[key], kind) for key, kind in model.openapi_types.items()}


def pod_type(struct: str, field: str, kind: str) -> str:
    if (struct, field) in QUANTITIES:
        return QUANTITIES[struct, field]
    if found := re.fullmatch(r"List\[(.*)\]", kind):
        return "[]" + pod_type(struct, field, found[1])
    if found := re.fullmatch(r"Dict\[str, (.*)\]", kind):
        return "map[string]" + pod_type(struct, field, found[1])
    if kind == "object":
        return OBJECTS[field]
    if kind == "int":
        return "int64" if field in NUMBERS_OF_64_BITS else "int32"
    return SCALARS.get(kind) or PREFIX.sub("", kind)


def decoding_errors(value: Any, kind: str = "MPIJob", path: str = "") -> Iterator[str]:
    """The paths that Go cannot decode, for JSON as the API server sends it."""
    if value is None:
        return
    if kind.startswith("[]"):
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from decoding_errors(item, kind.removeprefix("[]"), f"{path}[{number}]")
        else:
            yield path
    elif kind.startswith("map[string]"):
        if isinstance(value, dict):
            for name, item in value.items():
                yield from decoding_errors(item, kind.removeprefix("map[string]"), f"{path}.{name}")
        else:
            yield path
    elif kind in LEAVES:
        if not LEAVES[kind](value):
            yield path
    elif isinstance(value, dict):
        fields = STRUCTS.get(kind) or pod_fields(kind)
        for name, item in value.items():
            if name in fields:
                yield from decoding_errors(item, fields[name], f"{path}.{name}")
    else:
        yield path


def number(value: Any) -> str | None:
    """The text of a number in the JSON that Go's encoder writes, which has whole floats as integers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else repr(value)


def fits(bits: int) -> Callable[[Any], bool]:
    def decodes(value: Any) -> bool:
        text = number(value)
        return bool(text and re.fullmatch("-?[0-9]+", text) and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1))

    return decodes


def is_quantity(value: Any) -> bool:
    # The decoder looks at the bytes of the JSON, with or without quotes, without the spaces around them.
    text = value.strip(SPACE) if isinstance(value, str) else number(value)
    return text is not None and parses_as_quantity(text)


def is_time(value: Any) -> bool:
    # Python reads other forms too, such as a date alone.
    form = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
    if not isinstance(value, str) or not re.fullmatch(form, value):
        return False
    # The year 0 is a leap year in Go, and does not exist in Python.
    text = re.sub(r"\.[0-9]+", "", value.replace("0000-", "2000-", 1) if value.startswith("0000-") else value)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


LEAVES: dict[str, Callable[[Any], bool]] = {
    "any": lambda value: True,
    "string": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int32": fits(32),
    "int64": fits(64),
    "IntOrString": lambda value: isinstance(value, str) or fits(32)(value),
    "Quantity": is_quantity,
    "Time": is_time,
}

# unicode.IsSpace, without what is an escape in the JSON of Go's encoder.
SPACE = "".join(each for each in map(chr, range(0x20, 0x3001)) if each.isspace() and each not in "\u2028\u2029")

DECIMAL_SUFFIXES = {"", "n", "u", "m", "k", "M", "G", "T", "P", "E"}
BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parses_as_quantity(text: str) -> bool:
    """Whether resource.ParseQuantity returns no error, by its scanner rather than by the grammar in its documentation.

    https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/api/resource/quantity.go
    """
    scanned = re.fullmatch(r"[+-]?0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", text)
    if not text or not scanned:
        return False
    whole, fraction, suffix = scanned[1] or "0", scanned[2] or "", scanned[3]
    if suffix in DECIMAL_SUFFIXES:
        is_fast = len(whole) + len(fraction) <= 18
    elif suffix in BINARY_SUFFIXES:
        exponent = BINARY_SUFFIXES[suffix]
        is_fast = not fraction and 15 - len(whole) - exponent * 3 // 10 - 1 >= 0
    elif exponent_of := re.fullmatch("[eE]([+-]?[0-9]+)", suffix):
        if not -(2**63) <= int(exponent_of[1]) < 2**63:
            return False
        is_fast = len(whole) + len(fraction) <= 18 and int(exponent_of[1]) >= -9
    else:
        return False
    # The fast way takes no digit as zero; the other one needs a digit.
    return is_fast or bool(re.search("[0-9]", text.removesuffix(suffix)))
