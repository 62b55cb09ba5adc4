"""Requests of a member of a team, and the answers of its admission policies."""

import copy
from typing import Any

from tests.workloads.platform.admission import Request, denials
from tests.workloads.pod_security import pods
from training_workloads.platform.team_admission import team_admission

__all__ = [
    "COLLECTOR",
    "CONTROLLER",
    "DEBUG",
    "GRACE",
    "JOBS",
    "KUEUE",
    "MAKERS",
    "MEMBER",
    "OPERATOR",
    "PODS",
    "POLICIES",
    "RESOURCES",
    "USER",
    "check",
    "job",
    "mpi_job",
    "owned",
    "pod",
    "rejected",
    "with_pods",
]

POLICIES = team_admission("gpu")
LABELS = {"training-cluster/team": "vision", "training-cluster/user-id": "2001"}
USER = 2001

MEMBER = "arn:aws:sts::111122223333:assumed-role/Vision/me"
OPERATOR = "system:serviceaccount:mpi-operator:mpi-operator"
JOBS = "system:serviceaccount:kube-system:job-controller"
COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"

# Parts of messages.
GRACE = "a pod on GPU nodes ends within"
CONTROLLER = "a job with GPUs belongs to no other object"

PODS, DEBUG = ("", "pods"), ("", "pods/ephemeralcontainers")
RESOURCES = {"MPIJob": ("kubeflow.org", "mpijobs"), "Job": ("batch", "jobs")}


def pod(gpus: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a pod as the API server has it, with amounts as text."""
    container: dict[str, Any] = {"name": "main", "image": "debian"}
    spec: dict[str, Any] = {"securityContext": {"runAsUser": USER, "runAsGroup": USER, "fsGroup": USER}}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}}
        spec["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    return {"metadata": {"name": "one"}, "spec": {**spec, "containers": [container], **changes}}


def mpi_job(gpus: int = 8, *, queue: str | None = "gpu", suspend: bool = True) -> dict[str, Any]:
    """Return an MPIJob as Kueue's webhook leaves it."""
    metadata = {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {}}
    roles = {"Launcher": {"template": pod()}, "Worker": {"replicas": 2, "template": pod(gpus)}}
    policy = {"suspend": suspend, "cleanPodPolicy": "Running"}
    return {"metadata": metadata, "spec": {"runPolicy": policy, "mpiReplicaSpecs": roles}}


def with_pods(made: dict[str, Any], number: int, image: str = "debian") -> dict[str, Any]:
    """Return a job with a number of pods, by its kind's field."""
    changed = copy.deepcopy(made)
    roles = changed["spec"].get("mpiReplicaSpecs")
    part = roles["Worker"] if roles else changed["spec"]
    part["replicas" if roles else "parallelism"] = number
    next(pods(part))["containers"][0]["image"] = image
    return changed


def job(gpus: int = 8, *, queue: str | None = "gpu", suspend: bool = True) -> dict[str, Any]:
    metadata = {"name": "train"} | ({"labels": {"kueue.x-k8s.io/queue-name": queue}} if queue else {})
    return {"metadata": metadata, "spec": {"suspend": suspend, "template": pod(gpus)}}


def rejected(
    resource: tuple[str, str],
    made: dict[str, Any] | None,
    user: str = MEMBER,
    *,
    old: dict[str, Any] | None = None,
    labels: dict[str, str] = LABELS,
    options: dict[str, Any] | None = None,
) -> list[str]:
    request = Request(resource=resource, labels=labels, user=user, object=made, old=old, options=options or {})
    return denials(POLICIES, request)


def check(messages: list[str], wanted: str | None) -> None:
    assert len(messages) == (wanted is not None), messages
    assert all(message.startswith(wanted or "") and "Error" not in message for message in messages), messages


def owned(made: dict[str, Any], kind: str, *, controller: bool = True) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": kind, "name": "a", "uid": "1", "controller": controller}
    return made | {"metadata": {**made["metadata"], "ownerReferences": [owner]}}


MAKERS = {"MPIJob": mpi_job, "Job": job}
