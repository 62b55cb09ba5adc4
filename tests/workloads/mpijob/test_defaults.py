"""The definition has all defaults of upstream's: without them Kueue starts no job that omits such a field."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from setup import record_pod_types
from setup.record_pod_types import DEFAULTS, defaults_of, main
from tests.workloads.mpijob.api_server import errors, pruned, stored
from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.mpijob.pod_schema import omitted_defaults, pod_template_schema

(VERSION,) = mpi_job_definition()["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
UPSTREAM = json.loads(DEFAULTS.read_text())


def job(pod: Any, **spec: Any) -> dict[str, Any]:
    return {"spec": {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": pod}}}, **spec}}


def stored_pod(pod: Any) -> Any:
    return stored(SCHEMA, job(pod))["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]


@pytest.mark.parametrize("role", ["Launcher", "Worker"])
def test_the_definition_has_the_defaults_of_upstreams_and_no_others(role: str) -> None:
    other = {"Launcher": "Worker", "Worker": "Launcher"}[role]
    ours = {
        path.replace(f".{role}.", ".*."): (type(default), default)
        for path, default in defaults_of(SCHEMA)
        if f".{other}." not in path
    }
    assert ours == {path: (type(default), default) for path, default in UPSTREAM.items()}


def test_upstreams_definition_has_47_defaults_in_a_pod_template() -> None:
    assert sum(path.startswith("spec.mpiReplicaSpecs.") for path in UPSTREAM) == 47
    assert len(UPSTREAM) == 53
    assert UPSTREAM["spec.mpiReplicaSpecs.*.template.spec.containers[].ports[].protocol"] == "TCP"


def nodes_with_defaults(schema: dict[str, Any]) -> list[dict[str, Any]]:
    below = [*schema.get("properties", {}).values(), *(schema[key] for key in ("items",) if key in schema)]
    below += [schema["additionalProperties"]] if "additionalProperties" in schema else []
    return [*([schema] if "default" in schema else []), *(found for one in below for found in nodes_with_defaults(one))]


def test_each_default_is_valid_and_stays_as_it_is() -> None:
    found = nodes_with_defaults(SCHEMA)
    assert len(found) == 2 * 47 + 6
    for node in found:
        assert list(errors(node, node["default"], "")) == []
        assert pruned(node, node["default"]) == node["default"]
        assert not node.get("nullable")


def test_a_default_is_set_only_where_the_object_around_it_exists() -> None:
    container = {"name": "c", "image": "i"}
    assert stored_pod({"containers": [container]}) == {"containers": [container]}
    assert stored_pod({"containers": [{**container, "ports": [{"containerPort": 22}]}]}) == {
        "containers": [{**container, "ports": [{"containerPort": 22, "protocol": "TCP"}]}]
    }


def test_a_null_gets_the_default_and_a_value_stays() -> None:
    ports = [{"containerPort": 1, "protocol": None}, {"containerPort": 2, "protocol": "UDP"}]
    (container,) = stored_pod({"containers": [{"name": "c", "ports": ports}]})["containers"]
    assert [port["protocol"] for port in container["ports"]] == ["TCP", "UDP"]


@pytest.mark.parametrize(
    "pod",
    [
        {"containers": [{"name": "c", "ports": [{"containerPort": 22}, {"containerPort": 23, "protocol": "UDP"}]}]},
        {"containers": [{"name": "c", "readinessProbe": {"grpc": {"port": 1, "service": None}}}]},
        {"initContainers": [{"name": "c", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "k"}}}]}]},
        {"containers": [], "volumes": [{"name": "v", "rbd": {"image": "i", "monitors": [], "secretRef": {}}}]},
    ],
)
def test_what_a_template_omits_is_what_the_api_server_adds(pod: dict[str, Any]) -> None:
    template = {"spec": {"containers": []} | pod}
    whole = pruned(pod_template_schema(), template)
    omitted = list(omitted_defaults(template))
    assert omitted
    for path, default in omitted:
        value = whole
        for step in path:
            value = value[step]
        assert value == default
    assert list(omitted_defaults(whole)) == []


@pytest.mark.parametrize("template", [None, "text", [], {"spec": None}, {"spec": {"containers": "c"}}, {1: 2}])
def test_a_template_of_any_shape_omits_nothing(template: Any) -> None:
    assert list(omitted_defaults(template)) == []


def test_the_defaults_of_a_definition_are_recorded_by_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = {"properties": {"protocol": {"type": "string", "default": "TCP"}}}
    container = {"properties": {"ports": {"type": "array", "items": port}}}
    template = {"properties": {"spec": {"properties": {"containers": {"type": "array", "items": container}}}}}
    roles = {"additionalProperties": {"properties": {"template": template}}}
    spec = {"properties": {"slotsPerWorker": {"default": 1}, "mpiReplicaSpecs": roles}}
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}]}}
    file = tmp_path / "definition.yaml"
    file.write_text(yaml.safe_dump(definition))
    monkeypatch.setattr(record_pod_types, "DEFAULTS", tmp_path / "defaults.json")
    monkeypatch.setattr(record_pod_types, "RECORDED", tmp_path / "types.json")
    main([str(file)])
    assert json.loads((tmp_path / "defaults.json").read_text()) == {
        "spec.mpiReplicaSpecs.*.template.spec.containers[].ports[].protocol": "TCP",
        "spec.slotsPerWorker": 1,
    }
    types = json.loads((tmp_path / "types.json").read_text())
    assert {name: each["defaults"] for name, each in types.items() if "defaults" in each} == {
        "ContainerPort": {"protocol": "TCP"}
    }
