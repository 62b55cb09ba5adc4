"""What `status` shows of a job: the job, its pods, its network and speed, the warnings about it, and hints."""

from dataclasses import dataclass, replace

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.hints import Evidence, find_hints
from training_workloads.cluster.job_speed import JobSpeed, read_speed
from training_workloads.cluster.job_summaries import SUCCEEDED, JobSummary, PodSummary
from training_workloads.cluster.job_warnings import JobWarning, job_warnings
from training_workloads.cluster.jobs import ClusterJob, find_job
from training_workloads.cluster.logs import read_network
from training_workloads.cluster.stopped_operator import find_undecodable

__all__ = ["JobReport", "report_job"]

_LAST_WARNINGS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class JobReport:
    """A job, its pods and its warnings.

    Attributes:
        job: The job.
        launchers: The launcher's attempts, oldest first.
        workers: The workers, by their number.
        network: What carries the traffic of the ranks, as the launcher says it; `None` if it has not.
        speed: Images per second, measured and predicted; `None` where neither is known.
        warnings: The last warnings, oldest first.
        hints: What to do about each known cause, the first cause first.
    """

    job: JobSummary
    launchers: tuple[PodSummary, ...]
    workers: tuple[PodSummary, ...]
    network: str | None
    speed: JobSpeed | None
    warnings: tuple[JobWarning, ...]
    hints: tuple[str, ...]


def report_job(cluster: Cluster, name: str) -> JobReport:
    """Return the job of a name with its pods, network, speed, warnings and hints.

    Raises:
        InputError: There is no such job.
        ClusterError: A request failed.
    """
    job = find_job(cluster, name)
    warnings = job_warnings(cluster, job)
    return JobReport(
        job=job.summary,
        launchers=job.launchers,
        workers=job.workers,
        network=read_network(cluster, job),
        speed=read_speed(cluster, job),
        warnings=warnings[-_LAST_WARNINGS:],
        hints=_hints(cluster, job, warnings),
    )


def _hints(cluster: Cluster, job: ClusterJob, warnings: tuple[JobWarning, ...]) -> tuple[str, ...]:
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
    )
    if evidence.waits_for_the_operator:
        evidence = replace(evidence, undecodable=find_undecodable(cluster))
    return find_hints(evidence)
