"""What a job's object says about it: its state, its size and its times.

The operator's conditions: https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/apis/kubeflow/v2beta1/types.go
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any

from training_workloads.mpijob.spec import QUEUE_LABEL

__all__ = [
    "EVICTED",
    "FAILED",
    "PENDING",
    "SUCCEEDED",
    "SUSPENDED",
    "JobView",
    "moment",
    "view_batch_job",
    "view_mpi_job",
]

PENDING = "Pending"
RUNNING = "Running"
SUSPENDED = "Suspended"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

# The operator calls a job failed as soon as one of its workers is evicted, and goes on with it all the same
# (https://github.com/kubeflow/mpi-operator/issues/647): only with a completion time has it ended.
EVICTED = "Evicted"
_EVICTED_REASON = "MPIJobEvicted"

_BATCH_STATES = {"Complete": SUCCEEDED, "Failed": FAILED, "Suspended": SUSPENDED}

# https://github.com/horovod/horovod/blob/v0.28.1/horovod/runner/launch.py
_MIN_RANKS = ("--min-np", "--min-num-proc")
_MAX_RANKS = ("--max-np", "--max-num-proc")
_RANKS = ("-np", "-n", "--np", "--num-proc")


@dataclass(frozen=True, kw_only=True, slots=True)
class JobView:
    """A job as the commands show it.

    Attributes:
        kind: `MPIJob` or `Job`.
        name: Its name.
        namespace: Its namespace.
        state: Pending, Created, Running, Restarting, Suspended, Evicted, Succeeded or Failed.
        reason: The state's reason in one word, as the operator says it; empty if it says none.
        message: The same in a sentence.
        workers: Worker pods that the job wants.
        workers_ready: Those that are ready.
        slots: Ranks that a worker holds; 1 for a `Job`.
        world_size: Ranks of the job now, as far as its command says it.
        queue: Kueue's queue that it is in; `None` without one.
        elastic: Whether the number of workers can be changed while it runs.
        min_workers: Fewest workers that an elastic job runs with.
        max_workers: Most workers that it uses; `None`: no limit.
        created: When it was submitted.
        started: When it was taken up.
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
        """Whether nothing of it runs any more."""
        return self.state in (SUCCEEDED, FAILED)

    def age(self, now: datetime) -> timedelta:
        """Time since it was submitted."""
        return now - self.created

    def duration(self, now: datetime) -> timedelta | None:
        """Time that it ran, or has been running; `None` if it was not taken up yet."""
        return (self.finished or now) - self.started if self.started else None


def view_mpi_job(job: dict[str, Any], *, workers_ready: int = 0) -> JobView:
    """Reads an MPIJob.

    Args:
        job: The object.
        workers_ready: Worker pods that are ready; the object itself knows only which are running.
    """
    spec, status = job["spec"], job.get("status") or {}
    worker = spec["mpiReplicaSpecs"].get("Worker") or {}
    workers, slots = int(worker.get("replicas") or 0), int(spec.get("slotsPerWorker") or 1)
    words = _launcher_words(spec)
    min_ranks, max_ranks = _number_after(words, _MIN_RANKS), _number_after(words, _MAX_RANKS)
    elastic = min_ranks is not None
    ranks = None if elastic else _number_after(words, _RANKS)
    condition = _deciding_condition(status.get("conditions") or [])
    if condition.get("reason") == _EVICTED_REASON and not status.get("completionTime"):
        condition = {**condition, "type": EVICTED}
    return JobView(
        kind="MPIJob",
        **_identity(job),
        state=condition.get("type", PENDING),
        reason=condition.get("reason") or "",
        message=condition.get("message") or "",
        workers=workers,
        workers_ready=workers_ready,
        slots=slots,
        world_size=ranks or workers * slots,
        queue=(job["metadata"].get("labels") or {}).get(QUEUE_LABEL),
        elastic=elastic,
        min_workers=None if min_ranks is None else max(1, ceil(min_ranks / slots)),
        max_workers=None if max_ranks is None else max_ranks // slots,
        **_times(job, condition),
    )


def view_batch_job(job: dict[str, Any]) -> JobView:
    """Reads a Job of Kubernetes itself, such as one that stages data."""
    spec, status = job["spec"], job.get("status") or {}
    ended = [each for each in status.get("conditions") or [] if _is_true(each) and each["type"] in _BATCH_STATES]
    condition = ended[-1] if ended else {}
    at_work = RUNNING if status.get("ready") else PENDING
    pods = int(spec.get("parallelism", 1))
    return JobView(
        kind="Job",
        **_identity(job),
        state=_BATCH_STATES.get(condition.get("type", ""), at_work),
        reason=condition.get("reason") or "",
        message=condition.get("message") or "",
        workers=pods,
        workers_ready=int(status.get("ready") or 0),
        slots=1,
        world_size=pods,
        queue=(job["metadata"].get("labels") or {}).get(QUEUE_LABEL),
        elastic=False,
        min_workers=None,
        max_workers=None,
        **_times(job, condition),
    )


def moment(text: str | None) -> datetime | None:
    """A time as Kubernetes writes it; `None` for nothing."""
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _identity(job: dict[str, Any]) -> dict[str, Any]:
    return {"name": job["metadata"]["name"], "namespace": job["metadata"]["namespace"]}


def _times(job: dict[str, Any], condition: dict[str, Any]) -> dict[str, Any]:
    status = job.get("status") or {}
    # A job that failed has no completion time, but its condition has one.
    ended = condition.get("type") in (SUCCEEDED, FAILED, "Complete")
    finished = status.get("completionTime") or (condition.get("lastTransitionTime") if ended else None)
    return {
        "created": moment(job["metadata"]["creationTimestamp"]),
        "started": moment(status.get("startTime")),
        "finished": moment(finished),
    }


def _is_true(condition: dict[str, Any]) -> bool:
    return bool(condition["status"] == "True")


def _deciding_condition(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest that is true; older ones, such as Created, stay true. Of two in the same second the later in the list.

    What has ended stays ended, whatever was written after it.
    """
    true = [each for each in conditions if _is_true(each)]
    ended = [each for each in true if each["type"] in (SUCCEEDED, FAILED)]
    by_age = sorted(ended or true, key=lambda each: str(each.get("lastTransitionTime") or ""))
    return by_age[-1] if by_age else {}


def _launcher_words(spec: dict[str, Any]) -> list[str]:
    """The words of the launcher's command, also of one that is written for a shell."""
    launcher = spec["mpiReplicaSpecs"].get("Launcher") or {}
    containers = launcher.get("template", {}).get("spec", {}).get("containers") or [{}]
    words = [str(word) for field in ("command", "args") for word in containers[0].get(field) or []]
    return [part for word in words for part in _shell_words(word)]


def _shell_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        # No shell would take it either; as a program's argument it may be right.
        return text.split()


def _number_after(words: list[str], flags: Iterable[str]) -> int | None:
    """The value of the first of some flags, written `--flag 2` or `--flag=2`."""
    flags = tuple(flags)
    for word, following in pairwise([*words, ""]):
        flag, equals, value = word.partition("=")
        value = value if equals else following
        if flag in flags and value.isdigit():
            return int(value)
    return None
