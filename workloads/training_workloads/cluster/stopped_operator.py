"""MPIJobs that the operator cannot decode: one of them, and it starts no job of any namespace."""

from dataclasses import dataclass

from training_workloads.cluster.client import Cluster
from training_workloads.cluster.failures import ForbiddenError
from training_workloads.cluster.resources import MPI_JOBS
from training_workloads.mpijob.decoding import decoding_problems
from training_workloads.validation import Problem

__all__ = ["Undecodable", "UndecodableJob", "find_undecodable"]


@dataclass(frozen=True, kw_only=True, slots=True)
class UndecodableJob:
    """An MPIJob that the operator cannot decode.

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
    """What is known about MPIJobs that the operator cannot decode.

    Attributes:
        jobs: They, by namespace and name.
        everywhere: Whether those of every namespace are known, rather than of one.
    """

    jobs: tuple[UndecodableJob, ...] = ()
    everywhere: bool = True


def find_undecodable(cluster: Cluster) -> Undecodable:
    """Return the MPIJobs of all namespaces that the operator cannot decode, or of this one if the user may not more.

    Raises:
        ClusterError: A request failed.
    """
    try:
        listed, everywhere = cluster.objects(MPI_JOBS, all_namespaces=True), True
    except ForbiddenError:
        listed, everywhere = cluster.objects(MPI_JOBS), False
    found = []
    for job in listed:
        place = job["metadata"]
        # A list does not repeat the kind in each object.
        whole = {"apiVersion": MPI_JOBS.api_version, "kind": MPI_JOBS.kind, **job}
        if problem := next(decoding_problems(whole), None):
            found.append(UndecodableJob(name=place["name"], namespace=place["namespace"], problem=problem))
    in_order = sorted(found, key=lambda each: (each.namespace, each.name))
    return Undecodable(jobs=tuple(in_order), everywhere=everywhere)
