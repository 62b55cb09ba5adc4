"""What of an MPIJob stops the operator for every namespace: what its Go types cannot decode, and too many workers.

The definition of this project rejects these values. A cluster may have an older one, or jobs from before it.
"""

from functools import cache
from typing import Any

from training_workloads.mpijob.definition import mpi_job_definition
from training_workloads.mpijob.undecodable import BeyondBounds, Tolerated, undecodable
from training_workloads.validation import Problems

__all__ = ["decoding_failures", "decoding_problems"]


# Of the values beyond a bound it alone ends the operator, for want of memory.
_WORKERS = ("spec", "mpiReplicaSpecs", "Worker", "replicas")


def decoding_failures(job: Any) -> Problems:
    """Yield the problem of each value that stops the operator.

    Args:
        job: An MPIJob of any shape, as read from a cluster.
    """
    for problem in decoding_problems(job):
        if not isinstance(problem, Tolerated | BeyondBounds) or problem.path == _WORKERS:
            yield problem


def decoding_problems(job: Any) -> Problems:
    """Yield the problem of each value that the operator cannot decode, or would decode as another, or beyond a bound.

    Args:
        job: An MPIJob of any shape, as read from a file or a cluster. Its `metadata` is the API server's to check.
    """
    yield from undecodable(_schema(), job)


@cache
def _schema() -> dict[str, Any]:
    (version,) = mpi_job_definition()["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    # The API server checks the metadata of every object.
    fields = {name: field for name, field in schema["properties"].items() if name != "metadata"}
    return schema | {"properties": fields}
