"""An elastic Horovod job: it continues when workers are lost, and grows when workers are added."""

from dataclasses import dataclass
from functools import cached_property

from training_workloads.jobs.gpu_job import elastic_bounds
from training_workloads.jobs.horovod_job import BASE_RULES, HorovodJobSpec
from training_workloads.jobs.isolated_mpi_job import IsolatedMpiJob
from training_workloads.jobs.rank_environment import rank_environment
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.mpijob.launch_command import horovodrun_command
from training_workloads.mpijob.spec import MpiJobSpec
from training_workloads.validation import Problem, Problems, at_least, enforce

__all__ = ["ElasticHorovodJob", "ElasticHorovodJobSpec"]

# Where this and the fusion threshold are both set, Horovod 0.28 ends with a segmentation fault as soon as ranks come or
# go: its second start in a process puts a value into a vector that the first has emptied (`SetValue` in
# https://github.com/horovod/horovod/blob/v0.28.1/horovod/common/parameter_manager.cc).
_CYCLE_TIME = "HOROVOD_CYCLE_TIME"


@dataclass(frozen=True, kw_only=True)
class ElasticHorovodJobSpec(HorovodJobSpec):
    """A Horovod job whose number of workers may change while it runs, such as on Spot nodes.

    The launcher runs `horovodrun`, whose ranks find each other with Gloo; NCCL moves the gradients as in every job.
    What each rank runs must be elastic too: `training.digits` is; another script runs its training inside
    `hvd.elastic.run` (https://horovod.readthedocs.io/en/stable/elastic_include.html). The launcher asks the image's
    `training.pods.reachable_hosts` which workers can be used.
    `trainctl scale` changes the number of workers, and has the launcher read the new list of hosts at once.

    Attributes:
        workers: Worker pods of the job when it is created.
        min_workers: Workers with which it starts, and below which it waits for others. Default: 1.
        max_workers: Workers that it can be scaled to. Default: `workers`.
    """

    min_workers: int = 1
    max_workers: int | None = None

    def __post_init__(self) -> None:
        """Check everything that can be known before the job runs, and derive the job."""
        enforce(self, (*BASE_RULES, elastic_bounds, _largest, _no_binding, _no_cycle_time))
        # The pods' names must be valid for the largest number of workers too: a job that is scaled keeps its name.
        self._with_workers(self.largest)

    @property
    def largest(self) -> int:
        """Worker pods at most."""
        return self.workers if self.max_workers is None else self.max_workers

    @cached_property
    def mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs this job."""
        return self._with_workers(self.workers)

    def _with_workers(self, workers: int) -> MpiJobSpec:
        # NCCL's way between the nodes is chosen even if the job starts with one worker, since others may come.
        ranks = {**rank_environment(self.resources, max(2, self.largest)), **self.environment}
        ranks.pop(_CYCLE_TIME, None)
        command = horovodrun_command(
            self.resources.gpus,
            self.min_workers,
            self.largest,
            self.command,
            timeout_seconds=self.start_timeout_seconds,
        )
        return self._mpi_job(workers, command, ranks, min_workers=self.min_workers)


class ElasticHorovodJob(IsolatedMpiJob[ElasticHorovodJobSpec]):
    """An elastic Horovod job in a chart, with its NetworkPolicy."""

    kind = ElasticHorovodJobSpec


def _largest(spec: ElasticHorovodJobSpec) -> Problems:
    if spec.max_workers is not None:
        yield from at_least("max_workers", spec.max_workers, 1, *WORKERS)


def _no_binding(spec: ElasticHorovodJobSpec) -> Problems:
    if spec.bind_to is not None:
        allowed = "horovodrun does not bind elastic ranks"
        yield Problem(path=("bind_to",), given=spec.bind_to, allowed=allowed, fix="omit it")


def _no_cycle_time(spec: ElasticHorovodJobSpec) -> Problems:
    if isinstance(spec.environment, dict) and _CYCLE_TIME in spec.environment:
        allowed = "with it Horovod 0.28 crashes when workers come or go"
        given = spec.environment[_CYCLE_TIME]
        yield Problem(path=("environment", _CYCLE_TIME), given=given, allowed=allowed, fix="omit it")
