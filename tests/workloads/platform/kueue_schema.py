"""The fields of Kueue's objects that this project writes, as schemas: no other field is allowed.

Recorded by hand from https://github.com/kubernetes-sigs/kueue, files `apis/kueue/v1beta2/*_types.go` of resourceflavor,
topology, clusterqueue and localqueue (read 2026-11-23), with their limits and patterns.
"""

from typing import Any

import jsonschema

_NAME = {"type": "string", "maxLength": 253, "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_LABEL = {
    "type": "string",
    "maxLength": 316,
    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
}
# A resource.Quantity.
_QUANTITY = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^[0-9]+(m|[KMGT]i)?$"}]}


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_TAINT = _closed(
    {
        "key": _LABEL,
        "value": {"type": "string"},
        "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
    },
    "key",
    "effect",
)
_FLAVOR_QUOTAS = _closed(
    {
        "name": _NAME,
        "resources": {
            "type": "array",
            "minItems": 1,
            "maxItems": 64,
            "items": _closed({"name": _LABEL, "nominalQuota": _QUANTITY}, "name", "nominalQuota"),
        },
    },
    "name",
    "resources",
)
_RESOURCE_GROUP = _closed(
    {
        "coveredResources": {"type": "array", "minItems": 1, "maxItems": 64, "items": _LABEL},
        "flavors": {"type": "array", "minItems": 1, "maxItems": 64, "items": _FLAVOR_QUOTAS},
    },
    "coveredResources",
    "flavors",
)
_SPECS = {
    "ResourceFlavor": _closed(
        {
            "nodeLabels": {"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string"}},
            "nodeTaints": {"type": "array", "maxItems": 8, "items": _TAINT},
            "topologyName": _NAME,
        }
    ),
    "Topology": _closed(
        {
            "levels": {
                "type": "array",
                "minItems": 1,
                "maxItems": 16,
                "uniqueItems": True,
                "items": _closed({"nodeLabel": _LABEL}, "nodeLabel"),
            }
        },
        "levels",
    ),
    "ClusterQueue": _closed(
        {
            "namespaceSelector": {"type": "object"},
            "cohortName": _NAME,
            "preemption": _closed({"reclaimWithinCohort": {"enum": ["Never", "LowerPriority", "Any"]}}),
            "flavorFungibility": _closed({"whenCanBorrow": {"enum": ["MayStopSearch", "TryNextFlavor"]}}),
            "resourceGroups": {"type": "array", "maxItems": 16, "items": _RESOURCE_GROUP},
        }
    ),
    "LocalQueue": _closed({"clusterQueue": _NAME}),
}
_NAMESPACED = {"LocalQueue"}


def check_kueue_object(document: dict[str, Any]) -> None:
    """Raise unless Kueue knows the object and each of its fields, and its rules between fields hold."""
    kind = document["kind"]
    metadata = _closed({"name": _NAME, "namespace": _NAME}, "name", *(["namespace"] if kind in _NAMESPACED else []))
    schema = _closed(
        {"apiVersion": {"const": "kueue.x-k8s.io/v1beta2"}, "kind": {}, "metadata": metadata, "spec": _SPECS[kind]},
        "apiVersion",
        "spec",
    )
    jsonschema.validate(document, schema)
    spec = document["spec"]
    if kind == "ResourceFlavor" and "topologyName" in spec:
        assert spec["nodeLabels"], "at least one nodeLabel is required when topology is set"
    if kind == "Topology":
        labels = [level["nodeLabel"] for level in spec["levels"]]
        assert "kubernetes.io/hostname" not in labels[:-1], "hostname can only be used at the lowest level"
    for group in spec.get("resourceGroups", ()):
        for flavor in group["flavors"]:
            # "Each flavor MUST list all the resources listed for this group in the same order".
            assert [each["name"] for each in flavor["resources"]] == group["coveredResources"]
