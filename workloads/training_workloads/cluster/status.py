"""What `status` shows of a job: the job, its pods, the warnings about them, and a hint."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.hints import Evidence, hint
from training_workloads.cluster.job_summaries import SUCCEEDED, JobSummary, PodSummary, moment, summarize_pod
from training_workloads.cluster.jobs import ClusterJob, find_job, launcher_pods, worker_pods
from training_workloads.cluster.resources import EVENTS

__all__ = ["JobReport", "JobWarning", "report_job"]

_LAST_WARNINGS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class JobWarning:
    """A warning of Kubernetes or the operator about a job or its parts.

    Attributes:
        at: Time of the last occurrence.
        about: Kind and name of the object: `Pod/job-worker-0`.
        reason: One word.
        message: A sentence.
        count: Number of occurrences.
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
        hint: What to do, if the cause is a known one.
    """

    job: JobSummary
    launchers: tuple[PodSummary, ...]
    workers: tuple[PodSummary, ...]
    warnings: tuple[JobWarning, ...]
    hint: str | None


def report_job(cluster: Cluster, name: str) -> JobReport:
    """Return the job of a name with its pods, warnings and hint.

    Raises:
        InputError: There is no such job.
        ClusterError: A request failed.
    """
    job = find_job(cluster, name)
    launchers = tuple(map(summarize_pod, launcher_pods(job)))
    workers = tuple(map(summarize_pod, worker_pods(job)))
    warnings = _warnings(cluster, job)
    evidence = Evidence(
        job=job.summary, pods=(*launchers, *workers), warnings=frozenset(each.reason for each in warnings)
    )
    # A job that succeeded needs no hint, whatever happened before.
    advice = None if job.summary.state == SUCCEEDED else hint(evidence)
    return JobReport(
        job=job.summary, launchers=launchers, workers=workers, warnings=warnings[-_LAST_WARNINGS:], hint=advice
    )


def _warnings(cluster: Cluster, job: ClusterJob) -> tuple[JobWarning, ...]:
    """Return the warnings about a job and its parts, oldest first, without those of an older job of the same name."""
    events = cluster.objects(EVENTS, fields="type=Warning")
    warnings = [_warning(event) for event in events if _is_about(event, job.summary.name)]
    return tuple(sorted((each for each in warnings if each.at >= job.summary.created), key=lambda each: each.at))


def _is_about(event: dict[str, Any], name: str) -> bool:
    """Return whether an event is about a job, its launcher or a worker: deleted pods leave no other trace."""
    target = str(event["involvedObject"].get("name"))
    return target == name or target.startswith((f"{name}-launcher", f"{name}-worker-"))


def _warning(event: dict[str, Any]) -> JobWarning:
    target = event["involvedObject"]
    # The scheduler sets a series, the kubelet a count.
    series = event.get("series") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    at = next((time for time in times if time), event["metadata"]["creationTimestamp"])
    when = moment(at)
    assert when is not None
    return JobWarning(
        at=when,
        about=f"{target.get('kind')}/{target.get('name')}",
        reason=str(event.get("reason") or ""),
        message=" ".join(str(event.get("message") or "").split()),
        count=int(series.get("count") or event.get("count") or 1),
    )
