"""The report of `status` on a job: the job, its pods, its network and speed, the warnings about it, and hints."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.ended_nodes import EndedNode, NodesOfJob, has_lost_pods, nodes_of_job
from training_workloads.cluster.hints import Evidence, find_hints, find_undecodable
from training_workloads.cluster.job_summaries import SUCCEEDED, JobSummary, PodSummary, moment
from training_workloads.cluster.job_warnings import JobWarning, job_warnings
from training_workloads.cluster.jobs import ClusterJob, find_job
from training_workloads.cluster.logs import launcher_lines, read_network
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.api import PREDICTION_ANNOTATION
from training_workloads.mpijob.programs import BEGAN_AGAIN_LINE, COST_LINE, PROGRESS_SPEED

__all__ = ["JobCost", "JobReport", "JobSpeed", "report_job"]

_LAST_WARNINGS = 5
_LAST_ENDED_NODES = 5

# The ranks print a line at most every ten seconds; between two of them other programs and NCCL may print.
_LAST_LINES = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSpeed:
    """Images per second of all ranks.

    Attributes:
        images_per_second: In the newest line of progress, compilation and warm-up apart; `None` without one.
        at: When that line was printed.
        predicted_images_per_second: The rate in the job's annotation, if that is for the job's number of ranks.
    """

    images_per_second: float | None
    at: datetime | None
    predicted_images_per_second: float | None

    @property
    def share(self) -> float | None:
        """The measured rate divided by the predicted one."""
        if self.images_per_second is None or self.predicted_images_per_second is None:
            return None
        return self.images_per_second / self.predicted_images_per_second


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCost:
    """The cost of a run that has a cap, over all its starts.

    Attributes:
        usd: Dollars so far.
        most: Dollars that it may cost.
        usd_per_hour: Price of the present workers.
        at: When the launcher printed it.
    """

    usd: float
    most: float
    usd_per_hour: float
    at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobReport:
    """A job, its pods and its warnings.

    Attributes:
        job: The job.
        launchers: The launcher's attempts, oldest first.
        workers: The workers, by their number.
        network: The network of the ranks, as the launcher prints it; `None` if it has not.
        speed: Images per second, measured and predicted; `None` where neither is known.
        cost: Its cost; `None` without a cap, or before its workers answer.
        warnings: The last warnings, oldest first.
        ended_nodes: The last nodes that ended in its node groups while it ran, oldest first, where it lost pods.
        hints: The remedy of each known cause, the first cause first.
    """

    job: JobSummary
    launchers: tuple[PodSummary, ...]
    workers: tuple[PodSummary, ...]
    network: str | None
    speed: JobSpeed | None
    cost: JobCost | None
    warnings: tuple[JobWarning, ...]
    ended_nodes: tuple[EndedNode, ...]
    hints: tuple[str, ...]


#: Reads the ended nodes from the account of the nodes; nothing where that cannot be asked.
ReadEndedNodes = Callable[[NodesOfJob], tuple[EndedNode, ...]]


def report_job(cluster: Cluster, name: str, read_ended_nodes: ReadEndedNodes) -> JobReport:
    """Return the job of a name with its pods, network, speed, warnings, ended nodes and hints.

    Raises:
        InputError: There is no such job.
    """
    job = find_job(cluster, name)
    warnings = job_warnings(cluster, job)
    printed = _printed(cluster, job)
    return JobReport(
        job=job.summary,
        launchers=job.launchers,
        workers=job.workers,
        network=read_network(cluster, job),
        speed=_speed(job, printed.speed),
        cost=printed.cost,
        warnings=warnings[-_LAST_WARNINGS:],
        ended_nodes=_ended_nodes(cluster, job, read_ended_nodes)[-_LAST_ENDED_NODES:],
        hints=_hints(cluster, job, warnings, printed.repeated),
    )


def _ended_nodes(cluster: Cluster, job: ClusterJob, read: ReadEndedNodes) -> tuple[EndedNode, ...]:
    nodes = nodes_of_job(cluster, job) if has_lost_pods(job) else None
    return read(nodes) if nodes else ()


def _hints(
    cluster: Cluster, job: ClusterJob, warnings: tuple[JobWarning, ...], repeated: str | None
) -> tuple[str, ...]:
    # A job that succeeded needs no hint, whatever happened before.
    if job.summary.state == SUCCEEDED:
        return ()
    evidence = Evidence(
        job=job.summary,
        launchers=job.launchers,
        workers=job.workers,
        has_run=job.has_run,
        suspend=job.suspend,
        warnings=warnings,
        repeated=repeated,
    )
    if evidence.waits_for_the_operator:
        evidence = replace(evidence, undecodable=find_undecodable(cluster))
    return find_hints(evidence)


_Speed = tuple[datetime | None, float]


@dataclass(kw_only=True, slots=True)
class _Printed:
    """What the last lines of the newest launcher's log show.

    Attributes:
        speed: The newest speed.
        cost: The newest cost.
        repeated: How much training the ranks have repeated after their last start.
    """

    speed: _Speed | None = None
    cost: JobCost | None = None
    repeated: str | None = None


def _speed(job: ClusterJob, found: _Speed | None) -> JobSpeed | None:
    """Return the measured speed and the predicted one; `None` where neither is known."""
    predicted = _predicted(job)
    if found is None and predicted is None:
        return None
    at, speed = found or (None, None)
    return JobSpeed(images_per_second=speed, at=at, predicted_images_per_second=predicted)


def _printed(cluster: Cluster, job: ClusterJob) -> _Printed:
    """Return the findings in the newest launcher's log."""
    printed = _Printed()
    for time, text in launcher_lines(cluster, job, {"tailLines": str(_LAST_LINES)}):
        if match := PROGRESS_SPEED.search(text):
            printed.speed = moment(time), _number(match["speed"])
        elif match := BEGAN_AGAIN_LINE.fullmatch(text):
            printed.repeated = match["repeated"]
        elif match := COST_LINE.fullmatch(text):
            usd, most, rate = (_number(match[name]) for name in ("usd", "most", "rate"))
            printed.cost = JobCost(usd=usd, most=most, usd_per_hour=rate, at=moment(time))
    return printed


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _predicted(job: ClusterJob) -> float | None:
    """Return the annotation's speed; a user may have written another value."""
    annotations = mapping(job.manifest["metadata"].get("annotations"))
    try:
        value = json.loads(str(annotations.get(PREDICTION_ANNOTATION)))
        gpus, speed = value["gpus"], float(value["images_per_second"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    # Changed by hand, or by another program, since it was rendered.
    return speed if gpus == job.summary.world_size and 0 < speed < float("inf") else None
