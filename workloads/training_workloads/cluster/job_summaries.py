"""Summaries of jobs and pods: their state as the commands show it, read from their objects.

The operator's conditions: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from training_workloads.catalog.nodes import INSTANCE_TYPE_LABEL
from training_workloads.manifests.other_workloads import JobView
from training_workloads.manifests.torchrun import Torchrun, torchrun
from training_workloads.manifests.values import mapping, sequence
from training_workloads.mpijob.api import QUEUE_LABEL
from training_workloads.mpijob.programs import explained
from training_workloads.mpijob.view import MpiJobView

__all__ = [
    "EVICTED",
    "FAILED",
    "PENDING",
    "SUCCEEDED",
    "SUSPENDED",
    "JobSummary",
    "PodSummary",
    "has_ended",
    "has_started",
    "is_ready",
    "moment",
    "ready_since",
    "summarize_batch_job",
    "summarize_mpi_job",
    "summarize_pod",
    "torchrun_of",
]

PENDING = "Pending"
RUNNING = "Running"
SUSPENDED = "Suspended"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

# The operator sets Failed as soon as one worker is evicted, and the job continues all the same
# (https://github.com/kubeflow/mpi-operator/issues/647): it has ended only with a completion time.
EVICTED = "Evicted"
_EVICTED_REASON = "MPIJobEvicted"

_BATCH_STATES = {"Complete": SUCCEEDED, "Failed": FAILED, "Suspended": SUSPENDED}

# A container that waits for these will start; every other reason is a problem.
_STARTING = ("ContainerCreating", "PodInitializing")

# It has ended, and the kubelet starts it again later.
_BACK_OFF = "CrashLoopBackOff"


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSummary:
    """The state of a job, as the commands show it.

    Attributes:
        kind: `MPIJob` or `Job`.
        name: Its name.
        namespace: Its namespace.
        state: Pending, Created, Running, Restarting, Suspended, Evicted, Succeeded or Failed.
        reason: The operator's reason for the state in one word; may be empty.
        message: The same in a sentence.
        workers: Worker pods that the job wants.
        workers_ready: Worker pods that are ready.
        slots: Ranks of a worker; 1 for a `Job` without torchrun.
        world_size: Ranks of the job now, as far as its command says it.
        queue: Its queue of Kueue; `None` without one.
        elastic: Whether the number of workers can change while it runs.
        min_workers: Fewest workers that an elastic job runs with.
        max_workers: Most workers that it uses; `None`: no limit.
        created: When it was submitted.
        started: When the operator started it.
        finished: When it ended.
    """

    kind: str
    name: str
    namespace: str
    state: str
    reason: str
    message: str
    workers: int
    workers_ready: int
    slots: int
    world_size: int
    queue: str | None
    elastic: bool
    min_workers: int | None
    max_workers: int | None
    created: datetime
    started: datetime | None
    finished: datetime | None

    @property
    def is_finished(self) -> bool:
        """Whether the job has ended."""
        return self.state in (SUCCEEDED, FAILED)

    def age(self, now: datetime) -> timedelta:
        """Return the time since it was submitted."""
        return now - self.created

    def duration(self, now: datetime) -> timedelta | None:
        """Return the time that it ran, or has been running; `None` if it has not started."""
        return (self.finished or now) - self.started if self.started else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSummary:
    """The state of a pod, as `status` shows it.

    Attributes:
        name: Its name.
        state: Its phase, or a more specific word: ImagePullBackOff, OOMKilled, Terminating.
        ready: Whether its readiness probe passes.
        node: Its node; empty before it is scheduled.
        restarts: How often its containers were restarted.
        why: The scheduler's, the kubelet's or its own reason for the state; may be empty.
        exit_code: That of its first container, until it starts again; `None` while it runs.
        instance_types: The instance types that it requires; empty: any.
    """

    name: str
    state: str
    ready: bool
    node: str
    restarts: int
    why: str
    exit_code: int | None
    instance_types: tuple[str, ...]


def summarize_mpi_job(job: dict[str, Any], *, workers_ready: int = 0) -> JobSummary:
    """Return the state of an MPIJob, which itself counts only the workers that run, not those that are ready."""
    read, status = MpiJobView(document=job), mapping(job.get("status"))
    workers, slots = read.worker.replicas or 0, read.slots or 1
    launch = next(iter(read.launches), None)
    ranks, min_ranks, max_ranks = (launch.ranks, launch.min_ranks, launch.max_ranks) if launch else (None, None, None)
    elastic = min_ranks is not None
    condition = _deciding_condition(sequence(status.get("conditions")))
    if condition.get("reason") == _EVICTED_REASON and not status.get("completionTime"):
        condition = {**condition, "type": EVICTED}
    return JobSummary(
        kind="MPIJob",
        state=condition.get("type", PENDING),
        workers=workers,
        workers_ready=workers_ready,
        slots=slots,
        world_size=workers * slots if elastic else ranks or workers * slots,
        elastic=elastic,
        min_workers=None if min_ranks is None else max(1, ceil(min_ranks / slots)),
        max_workers=None if max_ranks is None else max_ranks // slots,
        **_of_any_kind(job, condition),
    )


def summarize_batch_job(job: dict[str, Any]) -> JobSummary:
    """Return the state of a `batch/v1` Job, such as one of torchrun, or one that stages data."""
    status = mapping(job.get("status"))
    conditions = sequence(status.get("conditions"))
    ended = [each for each in conditions if _is_true(each) and each["type"] in _BATCH_STATES]
    condition = ended[-1] if ended else {}
    pods, ready = int(job["spec"].get("parallelism", 1)), int(status.get("ready") or 0)
    run = torchrun_of(job)
    slots = (run.ranks if run else None) or 1
    bounds = _bounds(job["spec"], run)
    return JobSummary(
        kind="Job",
        state=_BATCH_STATES.get(condition.get("type", ""), RUNNING if ready else PENDING),
        workers=pods,
        workers_ready=ready,
        slots=slots,
        world_size=pods * slots,
        elastic=bounds is not None,
        min_workers=bounds[0] if bounds else None,
        max_workers=bounds[1] if bounds else None,
        **_of_any_kind(job, condition),
    )


def _bounds(spec: dict[str, Any], run: Torchrun | None) -> tuple[int, int] | None:
    """Return the fewest and most pods that torchrun runs with; None where Kubernetes does not change their number.

    It does for an Indexed Job where parallelism and completions are the same
    (https://kubernetes.io/docs/concepts/workloads/controllers/job/#elastic-indexed-jobs).
    """
    same = spec.get("completions") == spec.get("parallelism", 1)
    return run.bounds if run and same and spec.get("completionMode") == "Indexed" else None


def torchrun_of(job: dict[str, Any]) -> Torchrun | None:
    """Return the torchrun of a `batch/v1` Job's containers; None where they have none."""
    found = (torchrun(container.argv) for container in JobView(document=job).containers)
    return next((run for run in found if run), None)


def summarize_pod(pod: dict[str, Any]) -> PodSummary:
    """Return the state of a pod."""
    containers = sequence(mapping(pod.get("status")).get("containerStatuses"))
    state, why = _state(pod)
    return PodSummary(
        name=pod["metadata"]["name"],
        state=state,
        ready=is_ready(pod),
        node=pod["spec"].get("nodeName") or "",
        restarts=sum(int(each.get("restartCount", 0)) for each in containers),
        why=" ".join(why.split()),
        exit_code=_exit_code(pod),
        instance_types=tuple(sorted(set(_instance_types(pod["spec"])))),
    )


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether a pod's readiness probes pass."""
    return _ready_condition(pod) is not None


def ready_since(pod: dict[str, Any]) -> datetime | None:
    """Return when a pod became ready; `None` if it is not."""
    return moment((_ready_condition(pod) or {}).get("lastTransitionTime"))


def has_started(pod: dict[str, Any]) -> bool:
    """Return whether the pod's first container has, or had, a process that writes a log."""
    first = _first_container(pod)
    return bool(first.get("restartCount")) or "waiting" not in (first.get("state") or {"waiting": {}})


def has_ended(pod: dict[str, Any]) -> bool:
    """Return whether the pod has ended."""
    return mapping(pod.get("status")).get("phase") in ("Succeeded", "Failed")


def moment(text: str | None) -> datetime | None:
    """Return a time of an object; `None` for nothing."""
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _ready_condition(pod: dict[str, Any]) -> dict[str, Any] | None:
    conditions = sequence(mapping(pod.get("status")).get("conditions"))
    return next((each for each in conditions if each["type"] == "Ready" and _is_true(each)), None)


def _of_any_kind(job: dict[str, Any], condition: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a summary that every kind of job has in the same fields."""
    metadata, status = job["metadata"], mapping(job.get("status"))
    # A job that failed has no completion time, but its condition has one.
    ended = condition.get("type") in (SUCCEEDED, FAILED, "Complete")
    finished = status.get("completionTime") or (condition.get("lastTransitionTime") if ended else None)
    return {
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "reason": condition.get("reason") or "",
        "message": " ".join(str(condition.get("message") or "").split()),
        "queue": mapping(metadata.get("labels")).get(QUEUE_LABEL),
        "created": moment(metadata["creationTimestamp"]),
        "started": moment(status.get("startTime")),
        "finished": moment(finished),
    }


def _is_true(condition: dict[str, Any]) -> bool:
    return bool(condition["status"] == "True")


def _deciding_condition(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the newest that is true, of two in the same second the later in the list; older ones stay true.

    A job that has ended stays ended, whatever the operator wrote after it.
    """
    true = [each for each in conditions if _is_true(each)]
    ended = [each for each in true if each["type"] in (SUCCEEDED, FAILED)]
    by_age = sorted(ended or true, key=lambda each: str(each.get("lastTransitionTime") or ""))
    return by_age[-1] if by_age else {}


def _state(pod: dict[str, Any]) -> tuple[str, str]:
    """Return the most specific word and sentence about a pod."""
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating", ""
    status = mapping(pod.get("status"))
    phase = str(status.get("phase") or "Pending")
    for container in [*sequence(status.get("initContainerStatuses")), *sequence(status.get("containerStatuses"))]:
        if found := _container_state(container):
            return found[0] or phase, found[1]
    if status.get("reason"):
        return str(status["reason"]), str(status.get("message") or "")
    for condition in sequence(status.get("conditions")):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return phase, str(condition.get("message") or "")
    return phase, ""


def _container_state(container: dict[str, Any]) -> tuple[str, str] | None:
    """Return the state of a container that its pod's phase does not show; an empty word where the phase does."""
    state = mapping(container.get("state"))
    waiting, ended = mapping(state.get("waiting")), mapping(state.get("terminated"))
    last = mapping(mapping(container.get("lastState")).get("terminated"))
    killed = next((each for each in (ended, last) if each.get("reason") == "OOMKilled"), None)
    if killed:
        return "OOMKilled", f"container {container['name']!r} used more memory than its limit"
    if waiting.get("reason") and waiting["reason"] not in _STARTING:
        return str(waiting["reason"]), "; ".join(filter(None, (waiting.get("message"), _ending(last))))
    if ended.get("exitCode"):
        return str(ended.get("reason") or "Error"), _ending(ended)
    return ("", f"restarted after {_ending(last)}") if _ending(last) else None


def _ending(terminated: Mapping[str, Any]) -> str:
    """Return the exit code of a container that failed, and what it wrote as its reason; else nothing.

    https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
    """
    code = terminated.get("exitCode")
    return ": ".join(filter(None, (explained(code), terminated.get("message")))) if code else ""


def _first_container(pod: dict[str, Any]) -> dict[str, Any]:
    """Return the status of the container that runs the launch command, or sshd; empty where there is none yet."""
    # The kubelet sorts them by name.
    name = pod["spec"]["containers"][0]["name"]
    containers = sequence(mapping(pod.get("status")).get("containerStatuses"))
    return next((each for each in containers if each["name"] == name), {})


def _exit_code(pod: dict[str, Any]) -> int | None:
    first = _first_container(pod)
    state = mapping(first.get("state"))
    if mapping(state.get("waiting")).get("reason") == _BACK_OFF:
        state = mapping(first.get("lastState"))
    ended = mapping(state.get("terminated"))
    return int(ended["exitCode"]) if "exitCode" in ended else None


def _instance_types(spec: dict[str, Any]) -> Iterator[str]:
    """Yield the instance types of a node selector or a required node affinity."""
    selector = mapping(spec.get("nodeSelector"))
    if INSTANCE_TYPE_LABEL in selector:
        yield str(selector[INSTANCE_TYPE_LABEL])
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in sequence(required.get("nodeSelectorTerms")):
        for expression in sequence(term.get("matchExpressions")):
            if expression["key"] == INSTANCE_TYPE_LABEL and expression["operator"] == "In":
                yield from map(str, expression["values"])
