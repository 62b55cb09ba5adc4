"""MPIJobs that stop the operator: one of them, and it starts no job of any namespace."""

from contextlib import suppress
from dataclasses import dataclass

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ClusterError
from training_workloads.cluster.resources import MPI_JOBS
from training_workloads.mpijob.decoding import decoding_failures
from training_workloads.validation import Problem

__all__ = ["Undecodable", "UndecodableJob", "find_undecodable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class UndecodableJob:
    """An MPIJob that the operator cannot decode, or has no memory for.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        problem: The first value that is wrong in it.
    """

    name: str
    namespace: str
    problem: Problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Undecodable:
    """The known MPIJobs that stop the operator.

    Attributes:
        jobs: They, by namespace and name.
        everywhere: Whether those of every namespace are known, rather than of one.
    """

    jobs: tuple[UndecodableJob, ...] = ()
    everywhere: bool = True


def find_undecodable(cluster: Cluster) -> Undecodable:
    """Return the MPIJobs that stop the operator: of all namespaces, else of this one, else none."""
    # The state of a job is known without the other jobs, which the user may not list.
    for everywhere in (True, False):
        with suppress(ClusterError):
            return Undecodable(jobs=_undecodable_of(cluster, everywhere=everywhere), everywhere=everywhere)
    return Undecodable(everywhere=False)


def _undecodable_of(cluster: Cluster, *, everywhere: bool) -> tuple[UndecodableJob, ...]:
    found = []
    for job in cluster.objects(MPI_JOBS, all_namespaces=everywhere):
        place = job["metadata"]
        # A list does not repeat the kind in each object.
        whole = {"apiVersion": MPI_JOBS.api_version, "kind": MPI_JOBS.kind, **job}
        if problem := next(decoding_failures(whole), None):
            found.append(UndecodableJob(name=place["name"], namespace=place["namespace"], problem=problem))
    return tuple(sorted(found, key=lambda each: (each.namespace, each.name)))
