"""Jobs by their names, and the pods that belong to them."""

from dataclasses import dataclass
from typing import Any

from training_workloads.cluster.cluster import Cluster
from training_workloads.cluster.job_state import JobView, view_batch_job, view_mpi_job
from training_workloads.cluster.resources import BATCH_JOBS, MPI_JOBS, PODS, Resource
from training_workloads.mpijob.spec import JOB_NAME_LABEL, JOB_ROLE_LABEL, LAUNCHER, WORKER
from training_workloads.validation import InputError, known_names

__all__ = [
    "Job",
    "by_age",
    "find_job",
    "is_ready",
    "job_pods",
    "launcher_pods",
    "list_jobs",
    "ready_workers",
    "try_find_job",
    "worker_pods",
]

# Kubernetes' own: https://kubernetes.io/docs/reference/labels-annotations-taints/#batch-kubernetes-io-job-name
_BATCH_JOB_LABEL = "batch.kubernetes.io/job-name"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job that was found.

    Attributes:
        resource: Which kind it is.
        manifest: The object.
        pods: Its pods, oldest first.
    """

    resource: Resource
    manifest: dict[str, Any]
    pods: list[dict[str, Any]]

    @property
    def is_mpi_job(self) -> bool:
        """Whether it has a launcher and workers, or is a Job of Kubernetes itself."""
        return self.resource is MPI_JOBS

    @property
    def view(self) -> JobView:
        """What it says about itself."""
        if self.is_mpi_job:
            return view_mpi_job(self.manifest, workers_ready=ready_workers(self.pods))
        return view_batch_job(self.manifest)


def find_job(cluster: Cluster, name: str) -> Job:
    """The MPIJob of a name, else the Job.

    Raises:
        InputError: There is neither.
        ClusterError: The cluster could not be asked.
    """
    if job := try_find_job(cluster, name):
        return job
    names = [each["metadata"]["name"] for each in _every_job(cluster)]
    hint = known_names(name, names) if names else "there is none; 'list -A' looks in every namespace"
    raise InputError(f"'name' is {name!r}, and namespace {cluster.namespace!r} has no such job; {hint}")


def try_find_job(cluster: Cluster, name: str) -> Job | None:
    """The MPIJob of a name, else the Job, else `None`."""
    for resource in (MPI_JOBS, BATCH_JOBS):
        if manifest := cluster.get(resource, name):
            pods = [pod for pod in job_pods(cluster, resource, name) if not _is_older(pod, manifest)]
            return Job(resource=resource, manifest=manifest, pods=pods)
    return None


def list_jobs(cluster: Cluster, *, all_namespaces: bool = False) -> list[JobView]:
    """Every MPIJob, and every Job that belongs to none, the newest last."""
    jobs = _every_job(cluster, all_namespaces=all_namespaces)
    pods = cluster.objects(PODS, all_namespaces=all_namespaces, labels=f"{JOB_ROLE_LABEL}={WORKER}")
    views = []
    for job in jobs:
        if job["kind"] == BATCH_JOBS.kind:
            views.append(view_batch_job(job))
        else:
            views.append(view_mpi_job(job, workers_ready=ready_workers([pod for pod in pods if _is_of(pod, job)])))
    return sorted(views, key=lambda view: (view.created, view.name))


def job_pods(cluster: Cluster, resource: Resource, name: str) -> list[dict[str, Any]]:
    """The pods of a job, oldest first."""
    label = _BATCH_JOB_LABEL if resource is BATCH_JOBS else JOB_NAME_LABEL
    return sorted(cluster.objects(PODS, labels=f"{label}={name}"), key=by_age)


def launcher_pods(job: Job) -> list[dict[str, Any]]:
    """The attempts of a job's launcher, oldest first; of a Job all its pods."""
    return [pod for pod in job.pods if not job.is_mpi_job or _role(pod) == LAUNCHER]


def worker_pods(job: Job) -> list[dict[str, Any]]:
    """The workers of an MPIJob, by their number."""
    workers = [pod for pod in job.pods if _role(pod) == WORKER]
    return sorted(workers, key=lambda pod: int(pod["metadata"]["name"].rpartition("-")[2]))


def ready_workers(pods: list[dict[str, Any]]) -> int:
    """How many of some pods are workers that are ready."""
    return sum(_role(pod) == WORKER and is_ready(pod) for pod in pods)


def is_ready(pod: dict[str, Any]) -> bool:
    """Whether a pod's readiness probes pass."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def by_age(pod: dict[str, Any]) -> tuple[str, str]:
    """A key that sorts pods, the oldest first."""
    return str(pod["metadata"]["creationTimestamp"]), str(pod["metadata"]["name"])


def _every_job(cluster: Cluster, *, all_namespaces: bool = False) -> list[dict[str, Any]]:
    mpi_jobs = cluster.objects(MPI_JOBS, all_namespaces=all_namespaces)
    # A launcher's Job is a part of its MPIJob.
    batch_jobs = [
        each
        for each in cluster.objects(BATCH_JOBS, all_namespaces=all_namespaces)
        if not each["metadata"].get("ownerReferences")
    ]
    # A list does not repeat in each object what kind it is.
    return [{**each, "kind": MPI_JOBS.kind} for each in mpi_jobs] + [
        {**each, "kind": BATCH_JOBS.kind} for each in batch_jobs
    ]


def _is_older(pod: dict[str, Any], job: dict[str, Any]) -> bool:
    """Whether a pod is of an earlier job of the same name, and only about to end."""
    return str(pod["metadata"]["creationTimestamp"]) < str(job["metadata"]["creationTimestamp"])


def _is_of(pod: dict[str, Any], job: dict[str, Any]) -> bool:
    place, home = pod["metadata"], job["metadata"]
    same_name = place["namespace"] == home["namespace"] and place["labels"].get(JOB_NAME_LABEL) == home["name"]
    return same_name and not _is_older(pod, job)


def _role(pod: dict[str, Any]) -> str:
    return str((pod["metadata"].get("labels") or {}).get(JOB_ROLE_LABEL, ""))
