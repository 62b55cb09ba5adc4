"""The warnings of Kubernetes and the operator about a job and its parts, without those that every start has."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.job_summaries import moment, ready_since
from training_workloads.cluster.jobs import ClusterJob
from training_workloads.cluster.resources import EVENTS, PODS

__all__ = ["JobWarning", "job_warnings"]

# The kubelet's event about a probe that fails:
# https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/kubelet/prober/prober.go
_PROBE_FAILED = "Unhealthy"
_READINESS = "Readiness probe"

# A worker's sshd answers some seconds after its container starts; a probe that fails later reports more than a start.
_STARTING = timedelta(minutes=2)


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


def job_warnings(cluster: Cluster, job: ClusterJob) -> tuple[JobWarning, ...]:
    """Return the warnings about a job and its parts, oldest first, without those of an older job of the same name."""
    events = cluster.objects(EVENTS, fields="type=Warning")
    warnings = [_warning(event) for event in events if _is_about(event, job.summary.name)]
    pods = {f"{PODS.kind}/{pod['metadata']['name']}": pod for pod in job.pods}
    shown = (each for each in warnings if each.at >= job.summary.created and not _is_of_a_start(each, pods))
    return tuple(sorted(shown, key=lambda each: each.at))


def _is_about(event: dict[str, Any], name: str) -> bool:
    """Return whether an event is about a job, its launcher or a worker: deleted pods leave no other trace."""
    target = str(event["involvedObject"].get("name"))
    return target == name or target.startswith((f"{name}-launcher", f"{name}-worker-"))


def _is_of_a_start(warning: JobWarning, pods: dict[str, dict[str, Any]]) -> bool:
    """Return whether a readiness probe failed only while its pod started, or whether the pod is gone since."""
    if warning.reason != _PROBE_FAILED or not warning.message.startswith(_READINESS):
        return False
    if warning.about not in pods:
        return True
    ready, started = ready_since(pods[warning.about]), _started(pods[warning.about])
    return ready is not None and warning.at <= ready and (started is None or warning.at <= started + _STARTING)


def _started(pod: dict[str, Any]) -> datetime | None:
    """Return when the newest container of a pod started."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    times = [((each.get("state") or {}).get("running") or {}).get("startedAt") for each in containers]
    return moment(max(filter(None, times), default=None))


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
