"""What a pod's object says about it, as far as somebody who waits for a job wants to know."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL
from training_workloads.cluster.jobs import is_ready
from training_workloads.mpijob.programs import explained

__all__ = ["PodView", "has_ended", "has_started", "view_pod"]

# A container that waits for these is on its way; every other reason is trouble.
_ON_ITS_WAY = ("ContainerCreating", "PodInitializing")


@dataclass(frozen=True, kw_only=True, slots=True)
class PodView:
    """A pod as `status` shows it.

    Attributes:
        name: Its name.
        state: Its phase, or a word that says more: ImagePullBackOff, OOMKilled, Terminating.
        ready: Whether its readiness probe passes.
        node: Where it runs; empty: nowhere yet.
        restarts: How often its containers were started again.
        why: What the scheduler or the kubelet says about the state; empty: nothing.
        instance_types: The nodes' types that it asks for; empty: any.
    """

    name: str
    state: str
    ready: bool
    node: str
    restarts: int
    why: str
    instance_types: tuple[str, ...]


def view_pod(pod: dict[str, Any]) -> PodView:
    """Reads a pod."""
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    state, why = _state(pod)
    return PodView(
        name=pod["metadata"]["name"],
        state=state,
        ready=is_ready(pod),
        node=pod["spec"].get("nodeName") or "",
        restarts=sum(int(each.get("restartCount", 0)) for each in containers),
        why=" ".join(why.split()),
        instance_types=tuple(sorted(set(_instance_types(pod["spec"])))),
    )


def has_started(pod: dict[str, Any]) -> bool:
    """Whether the pod's first container has, or had, a process that writes a log."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    first = pod["spec"]["containers"][0]["name"]
    for container in containers:
        if container["name"] == first:
            return bool(container.get("restartCount")) or "waiting" not in (container.get("state") or {"waiting": {}})
    return False


def has_ended(pod: dict[str, Any]) -> bool:
    """Whether nothing of the pod runs any more."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _state(pod: dict[str, Any]) -> tuple[str, str]:
    """The word and the sentence that say most about a pod."""
    status = pod.get("status") or {}
    phase = str(status.get("phase") or "Pending")
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating", ""
    for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        if told := _container_state(container):
            return told
    if status.get("reason"):
        return str(status["reason"]), str(status.get("message") or "")
    for condition in status.get("conditions") or []:
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return phase, str(condition.get("message") or "")
    return phase, ""


def _container_state(container: dict[str, Any]) -> tuple[str, str] | None:
    """What a container says that its pod's phase does not."""
    state, last = container.get("state") or {}, (container.get("lastState") or {}).get("terminated") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    killed = next((each for each in (ended, last) if each.get("reason") == "OOMKilled"), None)
    if killed:
        return "OOMKilled", f"container {container['name']!r} used more memory than its limit"
    if waiting.get("reason") and waiting["reason"] not in _ON_ITS_WAY:
        return str(waiting["reason"]), str(waiting.get("message") or "")
    if ended.get("exitCode"):
        return str(ended.get("reason") or "Error"), explained(ended["exitCode"])
    return None


def _instance_types(spec: dict[str, Any]) -> Iterator[str]:
    """The instance types that a node selector or a required node affinity names."""
    if INSTANCE_TYPE_LABEL in (selector := spec.get("nodeSelector") or {}):
        yield str(selector[INSTANCE_TYPE_LABEL])
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or []:
        for expression in term.get("matchExpressions") or []:
            if expression["key"] == INSTANCE_TYPE_LABEL and expression["operator"] == "In":
                yield from map(str, expression["values"])
