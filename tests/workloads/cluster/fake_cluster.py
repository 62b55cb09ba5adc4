"""The data of a small API server: the part of Kubernetes that the commands use, for the real client.

It rejects what the real one rejects where that matters: an unknown path, a body of another kind, a second object of a
name, a patch of an unknown content type, a server-side apply without a manager.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import yaml

# By API version: plural, kind, namespaced.
KINDS = {
    "v1": [
        ("namespaces", "Namespace", False),
        ("pods", "Pod", True),
        ("configmaps", "ConfigMap", True),
        ("secrets", "Secret", True),
        ("events", "Event", True),
        ("serviceaccounts", "ServiceAccount", True),
        ("services", "Service", True),
        ("persistentvolumeclaims", "PersistentVolumeClaim", True),
    ],
    "batch/v1": [("jobs", "Job", True)],
    "apps/v1": [("deployments", "Deployment", True)],
    "networking.k8s.io/v1": [("networkpolicies", "NetworkPolicy", True)],
    "rbac.authorization.k8s.io/v1": [("clusterrolebindings", "ClusterRoleBinding", False)],
    "kubeflow.org/v2beta1": [("mpijobs", "MPIJob", True)],
}


@dataclass
class Failure:
    """A failure of the requests that match, a number of times."""

    what: int | str
    path: str = ""
    method: str = ""
    times: int = 1_000_000
    skipped: int = 0
    message: str = ""


@dataclass
class Log:
    """What a container wrote: times and texts; its stream may break, and a function may run at its end."""

    lines: list[tuple[str, str]]
    break_after: int = 0
    breaks: int = 1
    at_end: Callable[[], None] | None = None
    open_for: threading.Event | None = None


@dataclass
class FakeCluster:
    """The objects by path, and how the server behaves."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    logs: dict[str, Log] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    #: By path, what happens before its first, second, … GET.
    before_get: dict[str, list[Callable[[], object]]] = field(default_factory=dict)
    #: Status and body of another program that answers every request.
    page: tuple[int, bytes] | None = None
    requests: list[str] = field(default_factory=list)
    kinds: dict[str, list[tuple[str, str, bool]]] = field(default_factory=lambda: dict(KINDS))
    #: Ends requests that hang.
    released: threading.Event = field(default_factory=threading.Event)
    numbers: Any = field(default_factory=count)

    def add(self, document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        """Store an object as if it existed before."""
        entry = next(row for row in self.kinds[document["apiVersion"]] if row[1] == document["kind"])
        made = {
            "uid": f"uid-{next(self.numbers)}",
            "creationTimestamp": "2026-11-21T10:00:00Z",
            **({"namespace": "team"} if entry[2] else {}),
        }
        document["metadata"] = made | document["metadata"] | metadata
        self.objects[self.path(document)] = document
        return document

    def path(self, document: dict[str, Any]) -> str:
        plural, _, namespaced = next(row for row in self.kinds[document["apiVersion"]] if row[1] == document["kind"])
        root = "/api" if document["apiVersion"] == "v1" else "/apis"
        place = f"/namespaces/{document['metadata']['namespace']}" if namespaced else ""
        return f"{root}/{document['apiVersion']}{place}/{plural}/{document['metadata']['name']}"

    def remove_pods(self, job: str) -> None:
        """Delete the pods of a deleted job, as the garbage collector does."""
        for path, each in list(self.objects.items()):
            labels = each["metadata"].get("labels") or {}
            if each["kind"] == "Pod" and job in labels.values():
                del self.objects[path]


def write_kubeconfig(path: Path, address: str, user: dict[str, Any] | None = None) -> Path:
    """Write a kubeconfig with one context, `here`, in the namespace `team`."""
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "training", "cluster": {"server": address}}],
                "contexts": [{"name": "here", "context": {"cluster": "training", "user": "me", "namespace": "team"}}],
                "users": [{"name": "me", "user": {"token": "secret"} if user is None else user}],
            }
        )
    )
    return path
