"""Record the fields of a pod template: the Go types that decode them, and the defaults of upstream's definition.

The types are those of the Kubernetes schemas pinned here. The package `kubernetes-validate` has them, but only the
extra `jobs` installs it, and the definition of MPIJobs belongs to the base wheel. So it reads a small table:

    make pod-types

The schemas have no defaults. Those of upstream's definition are in `mpi_job_defaults.json`, by their paths; after a new
MPI operator, download its definition and record them again before the table:

    python -m setup.record_pod_types kubeflow.org_mpijobs.yaml

They come from the `+default` markers of https://github.com/kubernetes/api/blob/v0.35.0/core/v1/types.go , by
https://github.com/kubeflow/mpi-operator/blob/v0.8.2/manifests/base/kubeflow.org_mpijobs.yaml .
`tests/workloads/mpijob/` compares the table with the schemas, and the defaults with those of our definition.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from kubernetes_validate import utils as kubernetes

from training_workloads.catalog.versions import MPI_OPERATOR_KUBERNETES_VERSION
from training_workloads.mpijob import pod_schema

__all__ = ["DEFAULTS", "RECORDED", "defaults_of", "main", "recorded"]

RECORDED = Path(pod_schema.__file__).with_name(pod_schema.TABLE)

#: The defaults of upstream's definition by their paths: `[]` are the items of a list, `*` the values of a mapping.
DEFAULTS = Path(__file__).with_name("mpi_job_defaults.json")

_TEMPLATE = "spec.mpiReplicaSpecs.*.template"

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
    template = _add(next(name for name in schemas if name.endswith("core.v1.PodTemplateSpec")), schemas, types)
    for path, default in json.loads(DEFAULTS.read_text()).items():
        if path.startswith(f"{_TEMPLATE}."):
            struct, field = _owner(path.removeprefix(f"{_TEMPLATE}."), template, types)
            types[struct].setdefault("defaults", {})[field] = default
    lines = [f"{json.dumps(name)}: {json.dumps(types[name])}" for name in sorted(types)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def defaults_of(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each default in the schema of a definition."""
    if "default" in schema:
        yield path, schema["default"]
    for name, inner in schema.get("properties", {}).items():
        yield from defaults_of(inner, f"{path}.{name}".removeprefix("."))
    if "items" in schema:
        yield from defaults_of(schema["items"], f"{path}[]")
    if isinstance(every := schema.get("additionalProperties"), dict):
        yield from defaults_of(every, f"{path}.*")


def _owner(path: str, struct: str, types: dict[str, Any]) -> tuple[str, str]:
    """Return the struct and the field at a path below a struct."""
    *steps, field = path.split(".")
    for step in steps:
        struct = types[struct]["fields"][step.removesuffix("[]")].removeprefix("[]")
    return struct, field


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


def main(arguments: Sequence[str]) -> None:
    """Write the table; before it, record the defaults of a definition if its file is given."""
    for file in arguments:
        (version,) = yaml.safe_load(Path(file).read_text())["spec"]["versions"]
        found = dict(sorted(defaults_of(version["schema"]["openAPIV3Schema"])))
        DEFAULTS.write_text(json.dumps(found, indent=0) + "\n")
    RECORDED.write_text(recorded())


if __name__ == "__main__":
    main(sys.argv[1:])
