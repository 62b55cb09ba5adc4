"""Write the Kubernetes objects of this project into files that a scanner reads."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

__all__ = ["embedded_manifests", "pods_of_job", "write_manifests"]

_MANIFEST = "Custom::AWSCDK-EKS-KubernetesResource"


def embedded_manifests(template: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the objects that a stack applies to its cluster, with a placeholder for each value of the deployment."""
    for resource in template["Resources"].values():
        if resource["Type"] == _MANIFEST:
            yield from json.loads(_text(resource["Properties"]["Manifest"]))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else "known-at-deployment" for part in value["Fn::Join"][1])


def pods_of_job(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the pods that the operator creates for an MPIJob; a scanner does not read the templates in it."""
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
    """Write objects, and the pods of the jobs among them, into one file."""
    written = list(documents)
    pods = [pod for document in written if document["kind"] == "MPIJob" for pod in pods_of_job(document)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all([*written, *pods]))
