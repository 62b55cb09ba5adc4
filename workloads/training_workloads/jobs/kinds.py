"""Every kind of job, by its spec; `jobs.constructs` renders them."""

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.jobs.stage_data_job import StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoardSpec
from training_workloads.jobs.torch_elastic_job import TorchElasticJobSpec

__all__ = ["JobSpec"]

#: The spec of a job of any kind.
JobSpec = (
    HorovodJobSpec | ElasticHorovodJobSpec | TorchElasticJobSpec | NcclTestJobSpec | StageDataJobSpec | TensorBoardSpec
)
