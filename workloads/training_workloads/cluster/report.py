"""Everything that `status` tells of a job, gathered from the job, its pods and the events about them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.hints import Evidence, hint
from training_workloads.cluster.job_state import JobView, moment
from training_workloads.cluster.jobs import Job, find_job, launcher_pods, worker_pods
from training_workloads.cluster.pods import PodView, view_pod
from training_workloads.cluster.resources import EVENTS

__all__ = ["JobReport", "Warned", "report_job"]

_LAST_WARNINGS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Warned:
    """A warning that Kubernetes or the operator wrote about a job or its parts.

    Attributes:
        at: When it was last written.
        about: Kind and name of what it is about: `Pod/job-worker-0`.
        reason: One word.
        message: A sentence.
        count: How often it was written.
    """

    at: datetime
    about: str
    reason: str
    message: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class JobReport:
    """A job, its pods and its warnings.

    Attributes:
        job: The job.
        launchers: The launcher's attempts, oldest first.
        workers: The workers, by their number.
        warnings: The last warnings, oldest first.
        hint: What to do, where the cause is a known one.
    """

    job: JobView
    launchers: tuple[PodView, ...]
    workers: tuple[PodView, ...]
    warnings: tuple[Warned, ...]
    hint: str | None


def report_job(cluster: Cluster, name: str) -> JobReport:
    """Gathers what is known about a job.

    Raises:
        InputError: There is no such job.
        ClusterError: The cluster could not be asked.
    """
    job = find_job(cluster, name)
    launchers = tuple(map(view_pod, launcher_pods(job)))
    workers = tuple(map(view_pod, worker_pods(job)))
    warnings = _warnings(cluster, job)
    evidence = Evidence(
        job=job.view, pods=(*launchers, *workers), warnings=tuple(f"{each.reason}: {each.message}" for each in warnings)
    )
    # A job that ended well has no trouble, whatever it had on the way.
    advice = None if job.view.state == "Succeeded" else hint(evidence)
    return JobReport(
        job=job.view, launchers=launchers, workers=workers, warnings=warnings[-_LAST_WARNINGS:], hint=advice
    )


def _warnings(cluster: Cluster, job: Job) -> tuple[Warned, ...]:
    """The warnings about a job and its parts, oldest first; those of an older job of the same name are not its."""
    events = cluster.objects(EVENTS, fields="type=Warning")
    warned = [_warned(event) for event in events if _is_about(event, job.view.name)]
    return tuple(sorted((each for each in warned if each.at >= job.view.created), key=lambda each: each.at))


def _is_about(event: dict[str, Any], name: str) -> bool:
    """Whether an event is about a job, its launcher or one of its workers: pods that are gone have no other trace."""
    target = str(event["involvedObject"].get("name"))
    return target == name or target.startswith((f"{name}-launcher", f"{name}-worker-"))


def _warned(event: dict[str, Any]) -> Warned:
    target = event["involvedObject"]
    # Which of these is set depends on who wrote the event: the scheduler uses a series, the kubelet a count.
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    at = next((time for time in times if time), event["metadata"]["creationTimestamp"])
    when = moment(at)
    assert when is not None
    return Warned(
        at=when,
        about=f"{target.get('kind')}/{target.get('name')}",
        reason=str(event.get("reason") or ""),
        message=" ".join(str(event.get("message") or "").split()),
        count=int(series.get("count") or event.get("count") or 1),
    )
