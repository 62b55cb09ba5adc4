"""What belongs to training: a dataset on its way to the file system, and the curves of every run."""

from training_workloads.jobs.stage_data_job import StageDataJobSpec
from training_workloads.jobs.tensorboard import TensorBoardSpec
from training_workloads.mpijob.programs import LOCAL_IMAGE

__all__ = ["stage_data", "tensorboard"]


def stage_data(name: str = "stage-data", *, source: str, service_account: str) -> StageDataJobSpec:
    """Reads every file of a folder on Lustre, so that Lustre fetches it from S3 before the GPUs wait for it."""
    return StageDataJobSpec(name=name, image=LOCAL_IMAGE, source=source, service_account=service_account)


def tensorboard(name: str = "tensorboard") -> TensorBoardSpec:
    """Every run in `runs/` on Lustre, in a browser: `kubectl port-forward service/tensorboard 6006`."""
    return TensorBoardSpec(name=name, image=LOCAL_IMAGE)
