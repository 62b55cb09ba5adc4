"""The pods of every kind of object that has a pod template, also of those that have no rules on their other fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from training_workloads.manifests.pods import PodGroup
from training_workloads.manifests.values import mapping, value_at
from training_workloads.validation import Path

__all__ = ["POD_KINDS", "pods_of"]

#: Kinds with one pod template, and its path; a Pod is its own.
POD_KINDS: Mapping[str, Path] = {
    "Pod": (),
    "PodTemplate": ("template",),
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), ("spec", "template")),
    "ReplicationController": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}


def pods_of(document: Mapping[Any, Any]) -> Sequence[PodGroup]:
    """Return the pods of an object of one of `POD_KINDS`; none for every other."""
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in POD_KINDS:
        return ()
    path = POD_KINDS[kind]
    return [PodGroup(role=kind, template_path=path, template=mapping(value_at(document, path)), replicas=None)]
