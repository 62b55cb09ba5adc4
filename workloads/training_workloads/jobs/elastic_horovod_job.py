"""An elastic Horovod job: it continues when workers are lost, and grows when workers are added."""

from functools import cached_property
from typing import Annotated

from training_workloads.jobs.gpu_job import ElasticGpuJobSpec, elastic_bounds
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.mpi_pods import mpi_job
from training_workloads.jobs.rank_environment import rank_environment
from training_workloads.mpijob.api import job_name
from training_workloads.mpijob.bounds import WORKERS
from training_workloads.mpijob.launcher_argv import horovodrun_command
from training_workloads.mpijob.mpi_job import MpiJobSpec
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, at_least

__all__ = ["ElasticHorovodJobSpec"]

# Where this and the fusion threshold are both set, Horovod 0.28 ends with a segmentation fault as soon as ranks come or
# go: its second start in a process puts a value into a vector that the first has emptied (`SetValue` in
# https://github.com/horovod/horovod/blob/v0.28.1/horovod/common/parameter_manager.cc).
_CYCLE_TIME = "HOROVOD_CYCLE_TIME"


class ElasticHorovodJobSpec(HorovodJobSpec, ElasticGpuJobSpec):
    """A Horovod job whose number of workers may change while it runs, such as on Spot nodes.

    The launcher runs `horovodrun`, whose ranks find each other with Gloo; NCCL moves the gradients as in every job.
    What each rank runs must be elastic too: `training.digits` is; another script runs its training inside
    `hvd.elastic.run` (https://horovod.readthedocs.io/en/stable/elastic_include.html). The launcher asks the image's
    `training.pods.reachable_hosts` which workers can be used.
    `trainctl scale` changes the number of workers, and has the launcher read the new list of hosts at once.
    """

    max_workers: Annotated[int, Checked(at_least, 1, *WORKERS)] | None = None

    @cached_property
    def mpi_job(self) -> MpiJobSpec:
        """The MPIJob that runs this job."""
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
        return mpi_job(self.pods, self, command, ranks, min_workers=self.min_workers, max_cost=self.max_cost)


ElasticHorovodJobSpec.rule(elastic_bounds)


@ElasticHorovodJobSpec.rule
def _longest_name(spec: ElasticHorovodJobSpec) -> Problems:
    # A job that is scaled keeps its name.
    yield from job_name("name", spec.name, spec.largest)


@ElasticHorovodJobSpec.rule
def _no_binding(spec: ElasticHorovodJobSpec) -> Problems:
    if spec.bind_to is not None:
        allowed = "horovodrun does not bind elastic ranks"
        yield Problem(path=("bind_to",), given=spec.bind_to, allowed=allowed, fix="omit it")


@ElasticHorovodJobSpec.rule
def _no_cycle_time(spec: ElasticHorovodJobSpec) -> Problems:
    if _CYCLE_TIME in spec.environment:
        allowed = "with it Horovod 0.28 crashes when workers come or go"
        given = spec.environment[_CYCLE_TIME]
        yield Problem(path=("environment", _CYCLE_TIME), given=given, allowed=allowed, fix="omit it")
