"""An elastic Horovod job: it goes on when workers are lost, and grows when they are added."""

from dataclasses import dataclass, replace

from constructs import Construct

from training_workloads.jobs.horovod_job import BASE_RULES, HorovodJobSpec
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.rank_environment import rank_environment
from training_workloads.mpijob.launch_command import horovodrun_command
from training_workloads.mpijob.spec import MpiJobSpec
from training_workloads.validation import InputError, check_at_least, enforce

__all__ = ["ElasticHorovodJob", "ElasticHorovodJobSpec"]

# Where this and the fusion threshold are both set, Horovod 0.28 ends with a segmentation fault as soon as ranks come or
# go: its second start in a process puts a value into a vector that the first has emptied (`SetValue` in
# https://github.com/horovod/horovod/blob/v0.28.1/horovod/common/parameter_manager.cc).
_CYCLE_TIME = "HOROVOD_CYCLE_TIME"


@dataclass(frozen=True, kw_only=True, slots=True)
class ElasticHorovodJobSpec(HorovodJobSpec):
    """A Horovod job whose number of workers may change while it runs, such as on Spot nodes.

    The launcher runs `horovodrun`, whose ranks find each other with Gloo; NCCL moves the gradients as in every job.
    What each rank runs must be elastic too: `training.digits` is; a script of your own runs its training below
    `hvd.elastic.run` (https://horovod.readthedocs.io/en/stable/elastic_include.html). The launcher asks the image's
    `training.pods.reachable_hosts` which workers can be used.
    `training-workloads scale` changes the number of workers; the launcher learns of it when the kubelet has renewed
    the operator's file, after about a minute.

    Attributes:
        workers: Worker pods that the job is created with.
        min_workers: Workers with which it starts, and below which it waits for others. Default: 1.
        max_workers: Workers that it can be scaled to. Default: `workers`.
    """

    min_workers: int = 1
    max_workers: int | None = None

    def __post_init__(self) -> None:
        """Checks everything that can be known before the job runs."""
        enforce(self, (*BASE_RULES, _check_bounds, _check_no_binding, _check_no_cycle_time))
        # The pods' names must do for the largest number of workers, too: a job cannot be renamed when it is scaled.
        self._with_workers(self.largest)

    @property
    def largest(self) -> int:
        """Worker pods at most."""
        return self.workers if self.max_workers is None else self.max_workers

    def to_mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs this job.

        Raises:
            InputError: A value is not allowed, or does not go with the instance type.
        """
        return self._with_workers(self.workers)

    def _with_workers(self, workers: int) -> MpiJobSpec:
        # NCCL's way between the nodes is chosen even if the job starts with one worker, since others may come.
        ranks = {**rank_environment(self.resources, max(2, self.largest)), **self.environment}
        ranks.pop(_CYCLE_TIME, None)
        return replace(self.pods, workers=workers).mpi_job(
            namespace=self.namespace,
            command=horovodrun_command(self.resources.gpus, self.min_workers, self.largest, self.command),
            environment=ranks,
            backoff_limit=self.backoff_limit,
            deadline_seconds=self.deadline_seconds,
            min_workers=self.min_workers,
        )


class ElasticHorovodJob(IsolatedMpiJob):
    """An elastic Horovod job in a chart.

    Attributes:
        spec: What it was made from.
        mpi_job: The MPIJob.
        network_policy: What keeps other pods from the job's.
    """

    kind = ElasticHorovodJobSpec

    def __init__(self, scope: Construct, id: str, *, spec: ElasticHorovodJobSpec) -> None:
        """Defines the job.

        Args:
            scope: A chart, or a construct in one.
            id: Id in the scope; the name in the cluster is `spec.name`.
            spec: The job.
        """
        super().__init__(scope, id, spec=spec)
        self.spec = spec


def _check_bounds(spec: ElasticHorovodJobSpec) -> None:
    check_at_least("min_workers", spec.min_workers, 1)
    check_at_least("workers", spec.workers, 1)
    if spec.max_workers is not None:
        check_at_least("max_workers", spec.max_workers, 1)
    if not spec.min_workers <= spec.workers <= spec.largest:
        raise InputError(
            f"'min_workers' is {spec.min_workers}, 'workers' is {spec.workers} and 'max_workers' is {spec.largest}; "
            "give numbers that rise in this order, or are equal"
        )


def _check_no_binding(spec: ElasticHorovodJobSpec) -> None:
    if spec.bind_to is not None:
        raise InputError(f"'bind_to' is {spec.bind_to!r}, but horovodrun does not bind elastic ranks; leave it out")


def _check_no_cycle_time(spec: ElasticHorovodJobSpec) -> None:
    if _CYCLE_TIME in spec.environment:
        raise InputError(
            f"'environment' sets {_CYCLE_TIME}, with which Horovod 0.28 crashes when workers come or go; leave it out"
        )
