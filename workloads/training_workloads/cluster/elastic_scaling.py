"""Change the number of workers of an elastic job that runs, and wait until they are ready.

Of a `batch/v1` Job with torchrun that is all: new workers find the others at the store. Of an MPIJob the launcher must
know them too. The operator lists the running workers in a ConfigMap, which the launcher reads as a mounted file. The
kubelet updates that file when it syncs the pod: every 60 to 90 s, and at once when the pod itself changes.
https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/#mounted-configmaps-are-updated-automatically
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ConflictError, ForbiddenError, NotFoundError, RejectedError
from training_workloads.cluster.job_summaries import SUSPENDED, JobSummary, has_ended, is_ready
from training_workloads.cluster.jobs import (
    INDEX_LABEL,
    ClusterJob,
    find_job,
    launcher_pods,
    try_find_job,
    worker_pods,
)
from training_workloads.cluster.polling import Poller, Progress
from training_workloads.cluster.resources import CONFIG_MAPS, MPI_JOBS, PODS
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.validation import Problem, Problems, at_least, enforce

__all__ = ["scale_job", "wait_until_scaled"]

# https://github.com/kubeflow/mpi-operator/blob/v0.8.2/pkg/controller/mpi_job_controller.go
_CONFIG_SUFFIX = "-config"
_DISCOVERY = "discover_hosts.sh"

# The kubelet watches the ConfigMap too, and may learn of the change a moment after the first of these.
_TOUCHES = 2
_TOUCHED = "trainctl/hosts-changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scaling:
    """A job, and the number of workers that the user wants."""

    job: JobSummary
    workers: int


@dataclass(kw_only=True, slots=True)
class _Hosts:
    """The hosts that the launcher reads, and how soon it reads the new ones."""

    cluster: Cluster
    poller: Poller
    listed: frozenset[str] | None = None
    touches: int = 0
    permitted: bool = True

    def follow(self, job: ClusterJob) -> None:
        """Read the operator's list, and have the kubelet sync the launcher's pod if it has changed."""
        if self.permitted:
            try:
                self.poller.ask(lambda: self._follow(job))
            except (ForbiddenError, RejectedError) as error:
                self.permitted = False
                self.poller.note(
                    f"{error.event}; so the launcher reads the new list of hosts at the kubelet's next sync, after 60 "
                    "to 90 seconds"
                )

    def are(self, workers: frozenset[str]) -> bool:
        """Return whether the launcher can read exactly these workers, as far as the user may know."""
        return not self.permitted or (self.listed == workers and not self.touches)

    def _follow(self, job: ClusterJob) -> None:
        config = self.cluster.get(CONFIG_MAPS, f"{job.summary.name}{_CONFIG_SUFFIX}")
        listed = _workers_in((config or {}).get("data") or {}, job.summary.name)
        if listed != self.listed:
            self.listed, self.touches = listed, _TOUCHES
        if self.touches and _touch_launcher(self.cluster, job):
            self.touches -= 1


def scale_job(cluster: Cluster, name: str, workers: int) -> ClusterJob:
    """Change the number of workers of an elastic job, and return the job before the change.

    Raises:
        InputError: There is no such job, it cannot be scaled, or the number is outside its limits.
    """
    job = find_job(cluster, name)
    enforce(_Scaling(job=job.summary, workers=workers), [_job_can_be_scaled, _workers_are_within_the_limits])
    if workers != job.summary.workers:
        # Kubernetes takes the two numbers of a Job only together.
        indexed = {"completions": workers, "parallelism": workers}
        spec = {"mpiReplicaSpecs": {"Worker": {"replicas": workers}}} if job.is_mpi_job else indexed
        cluster.merge(job.resource, name, {"spec": spec})
    return job


def wait_until_scaled(
    cluster: Cluster, first: ClusterJob, workers: int, poller: Poller, progress: Progress
) -> ClusterJob | None:
    """Wait until the new workers are ready, the others have ended, and the launcher of an MPIJob knows this.

    Returns:
        The job then, earlier if it has ended or is suspended; `None` if it was deleted or replaced.

    Raises:
        DeadlineError: The poller's deadline came first.
    """
    name = first.summary.name
    wanted = frozenset(range(workers))
    hosts = _Hosts(cluster=cluster, poller=poller)
    while job := poller.ask(lambda: try_find_job(cluster, name)):
        if job.manifest["metadata"]["uid"] != first.manifest["metadata"]["uid"]:
            return None
        if job.summary.is_finished or job.summary.state == SUSPENDED:
            return job
        if job.is_mpi_job:
            hosts.follow(job)
        pods = _by_number(job)
        # A worker that ends may be ready still; another one of its name comes after it.
        ready = sum(is_ready(pods[each]) and not _ends(pods[each]) for each in wanted & pods.keys())
        known = not job.is_mpi_job or hosts.are(frozenset(f"{name}-worker-{number}" for number in wanted))
        if known and ready == workers and pods.keys() <= wanted:
            return job
        progress(_waits_for(ready, workers, len(pods.keys() - wanted)))
        poller.pause()
    return None


def _by_number(job: ClusterJob) -> dict[int, dict[str, Any]]:
    """Return the present workers by their number; a Job keeps those that have ended beside the ones that follow."""
    if job.is_mpi_job:
        return {int(pod["metadata"]["name"].rpartition("-")[2]): pod for pod in worker_pods(job)}
    return {int(pod["metadata"]["labels"][INDEX_LABEL]): pod for pod in job.pods if not has_ended(pod)}


def _ends(pod: dict[str, Any]) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _waits_for(ready: int, workers: int, leaving: int) -> str:
    if ready == workers and not leaving:
        return "waiting for the launcher's list of hosts"
    text = f"waiting for {workers} worker{'s' * (workers != 1)}, {ready} ready"
    return text + (f", {leaving} more to end" if leaving else "")


def _workers_in(data: dict[str, Any], job: str) -> frozenset[str]:
    """Return the names of the workers in the discovery script, which prints a host in each line after the first."""
    words = (line.split() for line in str(data.get(_DISCOVERY) or "").splitlines())
    names = {parts[1].partition(".")[0] for parts in words if len(parts) > 1 and parts[0] == "echo"}
    return frozenset(name for name in names if name.startswith(f"{job}-worker-"))


def _touch_launcher(cluster: Cluster, job: ClusterJob) -> bool:
    """Change an annotation of the launcher's pod, after which the kubelet syncs it and the files mounted in it.

    Returns:
        Whether that is done; a launcher that does not run yet gets the files as they are when it starts.
    """
    change = {"metadata": {"annotations": {_TOUCHED: datetime.now(UTC).isoformat()}}}
    for pod in launcher_pods(job):
        if (pod.get("status") or {}).get("phase") == "Running":
            try:
                cluster.merge(PODS, pod["metadata"]["name"], change)
            except (ConflictError, NotFoundError):
                # Another change came first, or it has ended since: the next question shows which.
                return False
    return True


def _job_can_be_scaled(scaling: _Scaling) -> Problems:
    job = scaling.job
    if job.kind != MPI_JOBS.kind and not job.elastic:
        allowed = f"that is a {job.kind}, and its pods are as many as they were"
        fix = "give the name of an elastic job: an MPIJob with horovodrun, or a Job with torchrun --nnodes=MIN:MAX"
    elif job.is_finished:
        allowed, fix = f"that job is {job.state}", "submit it again with another number of workers"
    elif not job.elastic:
        allowed = f"its command starts {job.world_size} ranks, no more and no fewer"
        fix = "render it with '--workers' and submit it again, or make it an elastic job (horovodrun --min-np)"
    elif job.queue is not None:
        allowed = f"it is in the queue {job.queue!r}, and Kueue would end all of its pods to admit another size"
        fix = "cancel it, render it with other '--workers' and submit it again"
    else:
        return
    yield Problem(path=("name",), given=job.name, allowed=allowed, fix=fix)


def _workers_are_within_the_limits(scaling: _Scaling) -> Problems:
    job = scaling.job
    low, high = job.min_workers or 1, job.max_workers
    if job.elastic and (scaling.workers < low or (high is not None and scaling.workers > high)):
        limits = f"{low} or more" if high is None else f"{low} to {high}"
        allowed, fix = f"{job.name!r} runs with {limits} workers", "give a number within these limits"
        yield Problem(path=("workers",), given=scaling.workers, allowed=allowed, fix=fix)
    elif job.kind == MPI_JOBS.kind:
        yield from at_least("workers", scaling.workers, 1, *WORKERS)
