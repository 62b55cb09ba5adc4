"""Record the fields of a pod template, with the Go types that decode them, from the Kubernetes schemas pinned here.

The package `kubernetes-validate` has the schemas, but only the extra `jobs` installs it, and the definition of MPIJobs
belongs to the base wheel. So the definition reads a small table instead:

    make pod-types

`tests/workloads/mpijob/test_pod_schema.py` compares the table with the schemas.
"""

import json
from pathlib import Path
from typing import Any

from kubernetes_validate import utils as kubernetes

from training_workloads.catalog.versions import MPI_OPERATOR_KUBERNETES_VERSION
from training_workloads.mpijob import pod_schema

__all__ = ["RECORDED", "recorded"]

RECORDED = Path(pod_schema.__file__).with_name(pod_schema.TABLE)

# Types with an own decoder, by the end of their name in the schemas.
_DECODERS = {
    "resource.Quantity": "Quantity",
    "intstr.IntOrString": "IntOrString",
    "meta.v1.Time": "Time",
    # It keeps any object as text: https://github.com/kubernetes/apimachinery/blob/v0.35.0/pkg/apis/meta/v1/helpers.go
    "meta.v1.FieldsV1": "any",
}
_SCALARS = {"string": "string", "boolean": "bool"}


def recorded() -> str:
    """Return the table as text: one type on a line, so that a refresh shows what changed."""
    schemas = _schemas()
    types: dict[str, Any] = {}
    _add(next(name for name in schemas if name.endswith("core.v1.PodTemplateSpec")), schemas, types)
    lines = [f"{json.dumps(name)}: {json.dumps(types[name])}" for name in sorted(types)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _schemas() -> dict[str, Any]:
    wanted = MPI_OPERATOR_KUBERNETES_VERSION
    version = next(one for one in kubernetes.all_versions() if kubernetes.major_minor(one) == wanted)
    contents = kubernetes.schema_contents(f"kubernetes-json-schema/v{version}-local-strict/_definitions.json", version)
    return dict(contents["$defs"])


def _add(name: str, schemas: dict[str, Any], types: dict[str, Any]) -> str:
    """Add a struct with the structs inside it; return its name in the table."""
    struct = name.rpartition(".")[2]
    if struct not in types:
        types[struct] = {}
        fields = schemas[name]["properties"]
        types[struct]["fields"] = {field: _kind(fields[field], schemas, types) for field in sorted(fields)}
        if required := schemas[name].get("required"):
            types[struct]["required"] = sorted(required)
    return struct


def _kind(schema: dict[str, Any], schemas: dict[str, Any], types: dict[str, Any]) -> str:
    """Return the type of a value in Go's words: `[]string`, `map[string]Quantity`, `EnvVar`."""
    if reference := schema.get("$ref", "").rpartition("/")[2]:
        decoder = next((kind for end, kind in _DECODERS.items() if reference.endswith(end)), None)
        return decoder or _add(reference, schemas, types)
    kind = next(one for one in _listed(schema["type"]) if one != "null")
    match kind:
        case "array":
            return "[]" + _kind(schema["items"], schemas, types)
        case "object":
            return "map[string]" + _kind(schema["additionalProperties"], schemas, types)
        case "integer":
            return str(schema["format"])
        case _:
            return _SCALARS[kind]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


if __name__ == "__main__":
    RECORDED.write_text(recorded())
