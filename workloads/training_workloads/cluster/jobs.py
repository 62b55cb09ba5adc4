"""Jobs of a cluster: find and list them, delete them, and wait for their end."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.job_summaries import (
    JobSummary,
    PodSummary,
    is_ready,
    summarize_batch_job,
    summarize_mpi_job,
    summarize_pod,
    torchrun_of,
)
from training_workloads.cluster.polling import Poller, Progress
from training_workloads.cluster.resources import (
    BATCH_JOBS,
    DEPLOYMENTS,
    MPI_JOBS,
    NETWORK_POLICIES,
    PODS,
    SERVICES,
    TRAIN_JOBS,
    Resource,
)
from training_workloads.jobs.rendezvous_store import STORE_SUFFIX
from training_workloads.jobs.train_job import NODES_SUFFIX
from training_workloads.manifests.values import mapping
from training_workloads.mpijob.api import JOB_NAME_LABEL, JOB_ROLE_LABEL, LAUNCHER, WORKER
from training_workloads.mpijob.launcher_argv import has_launcher
from training_workloads.mpijob.programs import USER_ERROR
from training_workloads.mpijob.view import MpiJobView
from training_workloads.validation import InputError, Problem, known_names

__all__ = [
    "BATCH_JOB_LABEL",
    "INDEX_LABEL",
    "PODS_END_SECONDS",
    "ClusterJob",
    "by_age",
    "delete_job",
    "delete_part",
    "find_job",
    "launcher_pods",
    "list_jobs",
    "parts_of",
    "try_find_job",
    "wait_for_end",
    "wait_until_gone",
    "worker_pods",
]

#: The label of a pod with the name of its `batch/v1` Job.
#: https://kubernetes.io/docs/reference/labels-annotations-taints/#batch-kubernetes-io-job-name
BATCH_JOB_LABEL = "batch.kubernetes.io/job-name"

#: The label of a pod with its index in an Indexed Job; documented on the same page.
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"

#: What a pod gets to end (30 s by default), and after which the pods of a lost node are deleted (5 minutes).
PODS_END_SECONDS = 360


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterJob:
    """A job of the cluster.

    Attributes:
        resource: Its kind.
        manifest: The object.
        pods: Its pods, oldest first.
    """

    resource: Resource
    manifest: dict[str, Any]
    pods: list[dict[str, Any]]

    @property
    def title(self) -> str:
        """Its kind and name: `MPIJob 'digits'`."""
        return f"{self.resource.kind} {self.manifest['metadata']['name']!r}"

    @property
    def is_mpi_job(self) -> bool:
        """Whether it has a launcher and workers, rather than the pods of a `batch/v1` Job."""
        return self.resource is MPI_JOBS

    @property
    def has_store(self) -> bool:
        """Whether its workers meet at a store in another pod: the pods of a `TorchElasticJob` have the job's label."""
        template = mapping(mapping(self.manifest.get("spec")).get("template"))
        labels = mapping(mapping(template.get("metadata")).get("labels"))
        return not self.is_mpi_job and labels.get(JOB_NAME_LABEL) == self.manifest["metadata"]["name"]

    @property
    def has_torchrun(self) -> bool:
        """Whether its pods are numbered from 0, and torchrun connects the ranks in all of them."""
        if self.is_mpi_job or mapping(self.manifest.get("spec")).get("completionMode") != "Indexed":
            return False
        run = torchrun_of(self.manifest)
        # Where no option has the nodes, the variable PET_NNODES may have them, as in the pods of a TrainJob.
        return run is not None and "standalone" not in run.options and run.options.get("nnodes") != "1"

    @property
    def summary(self) -> JobSummary:
        """Its state, as the commands show it."""
        if self.is_mpi_job:
            return summarize_mpi_job(self.manifest, workers_ready=_ready_workers(self.pods))
        return summarize_batch_job(self.manifest)

    @property
    def suspend(self) -> bool:
        """Whether a queue or a user wants it suspended; its state is that once its controller has read it."""
        spec = mapping(self.manifest.get("spec"))
        return (mapping(spec.get("runPolicy")) if self.is_mpi_job else spec).get("suspend") is True

    @property
    def has_run(self) -> bool:
        """Whether all its workers have run at the same time, which the operator records for good."""
        conditions = (self.manifest.get("status") or {}).get("conditions") or []
        return any(each["type"] == "Running" for each in conditions)

    @property
    def will_fail(self) -> bool:
        """Whether its launcher has ended it for a user's mistake: those that Kubernetes still starts end at once."""
        if self.summary.is_finished or not self.is_mpi_job or not self.launchers:
            return False
        argv = MpiJobView(document=self.manifest).launcher.first.argv
        # Another program may succeed at its next start.
        return has_launcher(argv) and self.launchers[-1].exit_code == USER_ERROR

    @property
    def launchers(self) -> tuple[PodSummary, ...]:
        """The attempts of its launcher, oldest first; of a `batch/v1` Job all its pods."""
        return tuple(map(summarize_pod, launcher_pods(self)))

    @property
    def workers(self) -> tuple[PodSummary, ...]:
        """Its workers in the order of their numbers."""
        return tuple(map(summarize_pod, worker_pods(self)))


def find_job(cluster: Cluster, name: str) -> ClusterJob:
    """Return the MPIJob of a name, else the `batch/v1` Job.

    Raises:
        InputError: Neither exists.
    """
    if job := try_find_job(cluster, name):
        return job
    raise InputError(_no_such_job(cluster, name))


def try_find_job(cluster: Cluster, name: str) -> ClusterJob | None:
    """Return the MPIJob of a name, else the `batch/v1` Job, else `None`."""
    for resource in (MPI_JOBS, BATCH_JOBS):
        if manifest := cluster.get(resource, name):
            pods = [pod for pod in _job_pods(cluster, resource, name) if not _is_older(pod, manifest)]
            return ClusterJob(resource=resource, manifest=manifest, pods=pods)
    return None


def list_jobs(cluster: Cluster, *, all_namespaces: bool = False) -> list[JobSummary]:
    """Return every MPIJob, and every `batch/v1` Job that belongs to none, the newest last."""
    jobs = _every_job(cluster, all_namespaces=all_namespaces)
    pods = cluster.objects(PODS, all_namespaces=all_namespaces, labels=f"{JOB_ROLE_LABEL}={WORKER}")
    summaries = []
    for job in jobs:
        if job["kind"] == BATCH_JOBS.kind:
            summaries.append(summarize_batch_job(job))
        else:
            summaries.append(
                summarize_mpi_job(job, workers_ready=_ready_workers([pod for pod in pods if _is_of(pod, job)]))
            )
    return sorted(summaries, key=lambda summary: (summary.created, summary.name))


def delete_job(cluster: Cluster, job: ClusterJob) -> bool:
    """Delete a job, and its pods in the background; return whether it existed still."""
    return cluster.delete(job.resource, job.summary.name)


def parts_of(job: ClusterJob) -> list[tuple[Resource, str]]:
    """Return the objects beside a job, by kind and name: its NetworkPolicy, and for torchrun store and Services."""
    name = job.summary.name
    store = name + STORE_SUFFIX
    of_torchrun = [(DEPLOYMENTS, store), (SERVICES, store), (SERVICES, name)]
    return [(NETWORK_POLICIES, name), *(of_torchrun if job.has_store else ())]


def delete_part(cluster: Cluster, job: ClusterJob, resource: Resource, name: str) -> bool:
    """Delete an object beside a job; return whether it existed."""
    spec = mapping(mapping(cluster.get(resource, name)).get("spec"))
    selector = mapping(spec.get("podSelector") or spec.get("selector"))
    labels = mapping(selector.get("matchLabels") or selector)
    # One that selects other pods has the name by chance.
    return labels.get(JOB_NAME_LABEL) == job.summary.name and cluster.delete(resource, name)


def wait_until_gone(cluster: Cluster, jobs: Iterable[ClusterJob], poller: Poller, progress: Progress) -> Iterator[str]:
    """Wait until deleted jobs have no pods, and yield the name of each whose pods have ended.

    Raises:
        DeadlineError: They take longer than the poller's deadline.
    """
    left = list(jobs)
    while left:
        remaining = []
        pods = 0
        for job in left:
            name = job.summary.name
            if found := poller.ask(partial(_job_pods, cluster, job.resource, name)):
                remaining.append(job)
                pods += len(found)
            else:
                yield name
        left = remaining
        if left:
            progress(f"waiting for {pods} pods of {', '.join(repr(job.summary.name) for job in left)} to end")
            poller.pause()


def wait_for_end(
    cluster: Cluster, first: ClusterJob, poller: Poller, progress: Callable[[ClusterJob], None]
) -> ClusterJob | None:
    """Wait until a job has ended, or will for a user's mistake.

    Returns:
        The job then, or `None` if it was deleted, or replaced by another job of its name.

    Raises:
        DeadlineError: The poller's deadline came first.
    """
    identity = first.manifest["metadata"]["uid"]
    job: ClusterJob | None = first
    while job and job.manifest["metadata"]["uid"] == identity:
        if job.summary.is_finished or job.will_fail:
            return job
        progress(job)
        poller.pause()
        job = poller.ask(lambda: try_find_job(cluster, first.summary.name))
    return None


def launcher_pods(job: ClusterJob) -> list[dict[str, Any]]:
    """Return the attempts of a job's launcher, oldest first; of a `batch/v1` Job all its pods."""
    return [pod for pod in job.pods if not job.is_mpi_job or _role(pod) == LAUNCHER]


def worker_pods(job: ClusterJob) -> list[dict[str, Any]]:
    """Return the workers of an MPIJob in the order of their numbers; none of a `batch/v1` Job."""
    workers = [pod for pod in job.pods if job.is_mpi_job and _role(pod) == WORKER]
    return sorted(workers, key=lambda pod: int(pod["metadata"]["name"].rpartition("-")[2]))


def by_age(pod: dict[str, Any]) -> tuple[str, str]:
    """Return a key that sorts pods, the oldest first."""
    return str(pod["metadata"]["creationTimestamp"]), str(pod["metadata"]["name"])


def _no_such_job(cluster: Cluster, name: str) -> Problem:
    if _is_train_job(cluster, name):
        allowed = f"it is a TrainJob, whose workers are those of the Job {name + NODES_SUFFIX!r}"
        fix = f"give that name to status, logs and wait; 'kubectl delete trainjob {name}' ends it"
        return Problem(path=("name",), given=name, allowed=allowed, fix=fix)
    names = [each["metadata"]["name"] for each in _every_job(cluster)]
    fix = known_names(name, names) if names else "there is none; 'list -A' shows those of every namespace"
    return Problem(path=("name",), given=name, allowed=f"namespace {cluster.namespace!r} has no such job", fix=fix)


def _is_train_job(cluster: Cluster, name: str) -> bool:
    try:
        return cluster.get(TRAIN_JOBS, name) is not None
    except ClusterError:
        # Most clusters have no such kind, and who may not read it has none.
        return False


def _every_job(cluster: Cluster, *, all_namespaces: bool = False) -> list[dict[str, Any]]:
    found = []
    for resource in (MPI_JOBS, BATCH_JOBS):
        for job in cluster.objects(resource, all_namespaces=all_namespaces):
            # The Job of a launcher is a part of its MPIJob.
            if resource is MPI_JOBS or not job["metadata"].get("ownerReferences"):
                # A list does not repeat the kind in each object.
                found.append({**job, "kind": resource.kind})
    return found


def _job_pods(cluster: Cluster, resource: Resource, name: str) -> list[dict[str, Any]]:
    """Return the pods of a job, oldest first."""
    label = BATCH_JOB_LABEL if resource is BATCH_JOBS else JOB_NAME_LABEL
    return sorted(cluster.objects(PODS, labels=f"{label}={name}"), key=by_age)


def _ready_workers(pods: list[dict[str, Any]]) -> int:
    return sum(_role(pod) == WORKER and is_ready(pod) for pod in pods)


def _is_older(pod: dict[str, Any], job: dict[str, Any]) -> bool:
    """Return whether a pod belongs to an earlier job of the same name, and is about to end."""
    return str(pod["metadata"]["creationTimestamp"]) < str(job["metadata"]["creationTimestamp"])


def _is_of(pod: dict[str, Any], job: dict[str, Any]) -> bool:
    place, home = pod["metadata"], job["metadata"]
    same_name = place["namespace"] == home["namespace"] and place["labels"].get(JOB_NAME_LABEL) == home["name"]
    return same_name and not _is_older(pod, job)


def _role(pod: dict[str, Any]) -> str:
    return str((pod["metadata"].get("labels") or {}).get(JOB_ROLE_LABEL, ""))
