"""Changing what runs: another number of workers, or none."""

from collections.abc import Callable

from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.job_state import JobView
from training_workloads.cluster.jobs import Job, find_job, job_pods, try_find_job
from training_workloads.cluster.polling import Poller, Progress
from training_workloads.cluster.resources import MPI_JOBS, NETWORK_POLICIES
from training_workloads.mpijob.spec import JOB_NAME_LABEL
from training_workloads.validation import InputError

__all__ = ["check_scaling", "delete_job", "scale_job", "wait_for_end", "wait_until_gone"]


def scale_job(cluster: Cluster, name: str, workers: int) -> JobView:
    """Changes the number of workers of an elastic job.

    Returns:
        The job as it was before.

    Raises:
        InputError: There is no such job, or it or the number does not allow it.
        ClusterError: The cluster could not be reached or refused.
    """
    view = find_job(cluster, name).view
    check_scaling(view, workers)
    if workers != view.workers:
        cluster.merge(MPI_JOBS, name, {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}}})
    return view


def check_scaling(view: JobView, workers: int) -> None:
    """Refuses what the job cannot follow.

    Raises:
        InputError: It is no elastic MPIJob, has ended, or the number is outside its limits.
    """
    if view.kind != "MPIJob":
        raise InputError(f"'name' is {view.name!r}, a {view.kind}; only an MPIJob has workers")
    if view.is_finished:
        raise InputError(
            f"'name' is {view.name!r}, which is {view.state}; submit it again with another number of workers"
        )
    if not view.elastic:
        raise InputError(
            f"'name' is {view.name!r}, whose command starts {view.world_size} ranks, no more and no fewer; render it "
            "with '--workers' and submit it again, or make it an elastic job (horovodrun --min-np)"
        )
    if view.queue is not None:
        raise InputError(
            f"'name' is {view.name!r}, which is in the queue {view.queue!r}; Kueue would end all of its pods to admit "
            "another size: cancel it, render it with other '--workers' and submit it again"
        )
    low, high = view.min_workers or 1, view.max_workers
    if workers < low or (high is not None and workers > high):
        allowed = f"{low} or more" if high is None else f"{low} to {high}"
        raise InputError(f"'workers' is {workers}; {view.name!r} runs with {allowed}")


def delete_job(cluster: Cluster, job: Job, deleted: Callable[[str], None]) -> None:
    """Deletes a job, its pods in the background, and the NetworkPolicy that came with it.

    Args:
        cluster: The cluster.
        job: The job.
        deleted: Is told each thing that was deleted.

    Raises:
        ClusterError: The cluster could not be reached or refused.
    """
    name = job.view.name
    if cluster.delete(job.resource, name):
        deleted(f"{job.view.kind} {name!r}")
    policy = cluster.get(NETWORK_POLICIES, name)
    # One that chooses other pods has the name by chance, and is somebody else's.
    chosen = ((policy or {}).get("spec") or {}).get("podSelector") or {}
    if (chosen.get("matchLabels") or {}).get(JOB_NAME_LABEL) == name and cluster.delete(NETWORK_POLICIES, name):
        deleted(f"NetworkPolicy {name!r}")


def wait_until_gone(cluster: Cluster, job: Job, poller: Poller, progress: Progress) -> None:
    """Waits until a deleted job has no pods any more.

    Raises:
        DeadlineError: They take longer than the poller's deadline.
    """
    while pods := poller.ask(lambda: job_pods(cluster, job.resource, job.view.name)):
        progress(f"waiting for {len(pods)} pods to end")
        poller.pause()


def wait_for_end(cluster: Cluster, first: Job, poller: Poller, progress: Callable[[JobView], None]) -> JobView | None:
    """Waits until a job has ended.

    Args:
        cluster: The cluster.
        first: The job as it was found.
        poller: How to wait.
        progress: Takes what is known of the job each time.

    Returns:
        The ended job, or `None` if it was deleted, or replaced by another of its name.

    Raises:
        DeadlineError: The poller's deadline came first.
    """
    identity = first.manifest["metadata"]["uid"]
    job: Job | None = first
    while job and job.manifest["metadata"]["uid"] == identity:
        if job.view.is_finished:
            return job.view
        progress(job.view)
        poller.pause()
        job = poller.ask(lambda: try_find_job(cluster, first.view.name))
    return None
