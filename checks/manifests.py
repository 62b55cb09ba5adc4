"""Collects every Kubernetes object that this project makes, as files that a scanner reads."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

__all__ = ["embedded_manifests", "pods_of_job", "write_manifests"]

_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"


def embedded_manifests(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that a stack applies to its cluster; values known at deployment only become words."""
    for resource in template["Resources"].values():
        if resource["Type"] == _MANIFEST:
            yield from json.loads(_text(resource["Properties"]["Manifest"]))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else "known-at-deployment" for part in value["Fn::Join"][1])


def pods_of_job(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The pods that the operator makes of an MPIJob, in which scanners do not look by themselves."""
    name, namespace = job["metadata"]["name"], job["metadata"].get("namespace")
    for role, replicas in job["spec"]["mpiReplicaSpecs"].items():
        metadata = replicas["template"].get("metadata", {})
        labels = metadata.get("labels", {}) | {"training.kubeflow.org/job-name": name}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **metadata,
                "name": f"{name}-{role.lower()}",
                "labels": labels,
                **({"namespace": namespace} if namespace else {}),
            },
            "spec": replicas["template"]["spec"],
        }


def write_manifests(documents: Iterable[dict[str, Any]], path: Path) -> None:
    """Writes objects, and the pods of the jobs among them, into one file."""
    written = list(documents)
    pods = [pod for document in written if document["kind"] == "MPIJob" for pod in pods_of_job(document)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all([*written, *pods]))
