"""Which instance types SageMaker's training jobs have, and which of them get EFA devices there."""

from typing import Any

from training_workloads.catalog.instances import INSTANCE_TYPES, supported_gpu_type
from training_workloads.validation import Problem, Problems

__all__ = ["EFA_IN_TRAINING_JOBS", "SAGEMAKER_PREFIX", "bare_type", "retirement_note", "sagemaker_type"]

#: SageMaker's prefix of EC2's name of a type, in training jobs and in HyperPod
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks.html).
SAGEMAKER_PREFIX = "ml."

#: Types of the catalog that no training job can have: they are not in `TrainingInstanceType` of SageMaker's API
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ResourceConfig.html, and botocore 1.44.5, which a test
#: compares; read 2026-11-23). Not every region has every other type, and an account has a quota for each.
_ABSENT = frozenset({"g4dn.metal", "gr6.4xlarge", "gr6.8xlarge"})

#: Types for which AWS says that a training job has EFA devices without being asked for them. P4d: its 4 devices are
#: /dev/infiniband/uverbs0 to 3 (https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-training-efa.html);
#: P3dn: https://github.com/aws/sagemaker-python-sdk/blob/v2.48.1/doc/api/training/smd_data_parallel_release_notes/
#: smd_data_parallel_change_log.rst (both read 2026-11-23). Of the other types with EFA no page that was read says it.
EFA_IN_TRAINING_JOBS = frozenset({"p3dn.24xlarge", "p4d.24xlarge"})


def bare_type(name: str) -> str:
    """Return EC2's name of a type that may be in SageMaker's spelling."""
    return name.removeprefix(SAGEMAKER_PREFIX)


def retirement_note(name: str) -> str:
    """Return a sentence on a type that EC2 no longer has; else none. No page that was read says so of SageMaker."""
    instance = INSTANCE_TYPES.get(name)
    if not (retired := instance and instance.retired):
        return ""
    successors = " or ".join(f"{SAGEMAKER_PREFIX}{each}" for each in retired.successors)
    return (
        f"AWS retired {name} on EC2 on {retired.on} ({retired.source}); whether SageMaker still has "
        f"{SAGEMAKER_PREFIX}{name} is not known; else choose {successors}"
    )


def sagemaker_type(name: Any) -> Problems:
    """Reject a type without GPUs, and one that SageMaker's training jobs do not have, with their nearest one."""
    if wrong := list(supported_gpu_type(name)):
        yield from wrong
    elif name in _ABSENT:
        fix = f"choose {_nearest(name)}, which has the same GPU"
        yield Problem(
            path=("instance_type",), given=name, allowed="SageMaker has no training jobs on this type", fix=fix
        )


def _nearest(name: str) -> str:
    """Return the type with the same GPU whose number of them is closest, and among those the memory."""
    wanted = INSTANCE_TYPES[name]
    present = (each for each in INSTANCE_TYPES.values() if each.name not in _ABSENT and not each.retired)
    same = [each for each in present if each.gpu == wanted.gpu]
    return min(
        same, key=lambda each: (abs(each.gpus - wanted.gpus), abs(each.memory_gib - wanted.memory_gib), each.name)
    ).name
