"""An MPIJob together with the policy that keeps other pods from it."""

from typing import ClassVar, Protocol

from constructs import Construct

from training_workloads.jobs.mpi_job import MpiJob
from training_workloads.jobs.network_policy import JobNetworkPolicy
from training_workloads.jobs.spec_rules import check_spec
from training_workloads.mpijob.spec import MpiJobSpec

__all__ = ["IsolatedMpiJob", "MpiJobSource"]


class MpiJobSource(Protocol):
    """What an MPIJob is derived from."""

    @property
    def name(self) -> str:
        """Name of the job."""

    @property
    def namespace(self) -> str | None:
        """Its namespace; None for that of `kubectl`."""

    def to_mpi_job(self) -> MpiJobSpec:
        """The MPIJob."""


class IsolatedMpiJob(Construct):
    """An MPIJob in a chart, with its NetworkPolicy.

    Attributes:
        kind: What a job of this kind is described by.
        mpi_job: The MPIJob.
        network_policy: What keeps other pods from the job's.
    """

    kind: ClassVar[type]

    def __init__(self, scope: Construct, id: str, *, spec: MpiJobSource) -> None:
        """Defines the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        check_spec(spec, self.kind)
        super().__init__(scope, id)
        self.mpi_job = MpiJob(self, "Resource", spec=spec.to_mpi_job())
        self.network_policy = JobNetworkPolicy(self, "NetworkPolicy", job_name=spec.name, namespace=spec.namespace)
