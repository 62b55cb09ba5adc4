"""The schema of a pod template is that of Kubernetes, in the form that a definition may have."""

from collections.abc import Iterator
from typing import Any

from setup.record_pod_types import RECORDED, recorded
from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.mpijob.pod_schema import pod_template_schema

# https://github.com/kubernetes/apiextensions-apiserver/blob/v0.35.0/pkg/apiserver/schema/validation.go
INTEGER_OR_STRING = [{"type": "integer"}, {"type": "string"}]
ALLOWED = {
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-preserve-unknown-fields",
}


def nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from nodes(inner)
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key])


def definition_nodes() -> list[dict[str, Any]]:
    return list(nodes(mpi_job_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))


def test_the_recorded_types_are_those_of_the_pinned_schemas() -> None:
    assert RECORDED.read_text() == recorded(), "run 'make pod-types'"


def test_the_types_of_some_fields() -> None:
    pod = pod_template_schema()["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]
    text = {"type": "string", "maxLength": 131_072}
    assert container["command"] == {"type": "array", "maxItems": 10_000, "items": text}
    assert container["env"]["items"]["required"] == ["name"]
    assert container["tty"] == {"type": "boolean"}
    assert container["securityContext"]["properties"]["runAsUser"] == {"type": "integer", "format": "int64"}
    port = container["ports"]["items"]["properties"]["containerPort"]
    assert port == {"type": "integer", "format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}
    assert pod["volumes"]["items"]["properties"]["emptyDir"]["properties"]["sizeLimit"]["anyOf"] == INTEGER_OR_STRING


def test_the_schema_is_structural() -> None:
    for node in definition_nodes():
        assert node.keys() <= ALLOWED
        if "x-kubernetes-int-or-string" in node:
            assert "type" not in node
            assert node["anyOf"] == INTEGER_OR_STRING
        else:
            assert node["type"] in {"array", "boolean", "integer", "object", "string"}
            assert "anyOf" not in node
        assert not {"properties", "additionalProperties"} <= node.keys()
        assert (node.get("type") == "array") == ("items" in node)


def test_no_text_has_a_format() -> None:
    """With one, the API server accepts a list."""
    assert [node for node in definition_nodes() if "format" in node and node["type"] != "integer"] == []


def test_each_number_of_32_bits_has_its_limits_and_those_of_64_bits_no_imprecise_one() -> None:
    for node in definition_nodes():
        if node.get("format") == "int32":
            assert -(2**31) <= node["minimum"] <= node["maximum"] < 2**31
        assert all(abs(node.get(limit, 0)) < 2**53 for limit in ("minimum", "maximum"))
