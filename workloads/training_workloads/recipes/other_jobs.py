"""What belongs to training: a dataset on its way to the file system, the curves of every run, the network of two nodes.

The network is measured with nccl-tests before a training run relies on it; that runs on GPUs only. The catalog has
published figures; here: not measured.
"""

from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.jobs.stage_data_job import StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoardSpec
from training_workloads.mpijob.programs import LOCAL_IMAGE

__all__ = ["nccl_p3dn", "nccl_p4d", "nccl_p5", "stage_data", "tensorboard"]


def stage_data(name: str = "stage-data", *, source: str, service_account: str) -> StageDataJobSpec:
    """Reads every file of a folder on Lustre, so that Lustre fetches it from S3 before the GPUs wait for it."""
    return StageDataJobSpec(name=name, image=LOCAL_IMAGE, source=source, service_account=service_account)


def tensorboard(name: str = "tensorboard") -> TensorBoardSpec:
    """Every run in `runs/` on Lustre, in a browser: `kubectl port-forward service/tensorboard 6006`."""
    return TensorBoardSpec(name=name, image=LOCAL_IMAGE)


def nccl_p3dn(name: str = "nccl-p3dn") -> NcclTestJobSpec:
    """All-reduce over the EFA interface of each node; nothing with its message's size is published for p3dn."""
    return NcclTestJobSpec(name=name, image=LOCAL_IMAGE, instance_type="p3dn.24xlarge")


def nccl_p4d(name: str = "nccl-p4d") -> NcclTestJobSpec:
    """All-reduce over the four EFA interfaces of each node; nothing with its message's size is published for p4d."""
    return NcclTestJobSpec(name=name, image=LOCAL_IMAGE, instance_type="p4d.24xlarge")


def nccl_p5(name: str = "nccl-p5") -> NcclTestJobSpec:
    """All-reduce over the 32 EFA interfaces of each node, compared with the catalog's figure."""
    return NcclTestJobSpec(name=name, image=LOCAL_IMAGE, instance_type="p5.48xlarge")
