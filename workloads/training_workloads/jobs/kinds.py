"""Every kind of job: its spec, and the construct that renders it."""

from typing import Any

from constructs import Construct

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJob, ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJob, HorovodJobSpec
from training_workloads.jobs.nccl_test_job import NcclTestJob, NcclTestJobSpec
from training_workloads.jobs.stage_data_job import StageDataJob, StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoard, TensorBoardSpec
from training_workloads.jobs.torch_elastic_job import TorchElasticJob, TorchElasticJobSpec

__all__ = ["JobSpec", "define_job"]

#: The spec of a job of any kind.
JobSpec = (
    HorovodJobSpec | ElasticHorovodJobSpec | TorchElasticJobSpec | NcclTestJobSpec | StageDataJobSpec | TensorBoardSpec
)

_CONSTRUCTS: dict[type, Any] = {
    HorovodJobSpec: HorovodJob,
    ElasticHorovodJobSpec: ElasticHorovodJob,
    TorchElasticJobSpec: TorchElasticJob,
    NcclTestJobSpec: NcclTestJob,
    StageDataJobSpec: StageDataJob,
    TensorBoardSpec: TensorBoard,
}


def define_job(scope: Construct, id: str, *, spec: JobSpec) -> Construct:
    """Define a job of any kind.

    Args:
        scope: A chart, or a construct in one.
        id: Id in the scope; the name in the cluster is `spec.name`.
        spec: The job.
    """
    construct: Construct = _CONSTRUCTS[type(spec)](scope, id, spec=spec)
    return construct
