"""The network between two nodes, measured with nccl-tests before a training run relies on it.

Runs on GPUs only. The catalog has published figures; here: not measured.
"""

from training_workloads.jobs.nccl_test_job import NcclTestJobSpec
from training_workloads.mpijob.programs import LOCAL_IMAGE

__all__ = ["nccl_p3dn", "nccl_p4d", "nccl_p5"]


def nccl_p3dn(name: str = "nccl-p3dn") -> NcclTestJobSpec:
    """All-reduce over the EFA interface of each node; nothing with its message's size is published for p3dn."""
    return NcclTestJobSpec(name=name, image=LOCAL_IMAGE, instance_type="p3dn.24xlarge")


def nccl_p4d(name: str = "nccl-p4d") -> NcclTestJobSpec:
    """All-reduce over the four EFA interfaces of each node; nothing with its message's size is published for p4d."""
    return NcclTestJobSpec(name=name, image=LOCAL_IMAGE, instance_type="p4d.24xlarge")


def nccl_p5(name: str = "nccl-p5") -> NcclTestJobSpec:
    """All-reduce over the 32 EFA interfaces of each node, compared with the catalog's figure."""
    return NcclTestJobSpec(name=name, image=LOCAL_IMAGE, instance_type="p5.48xlarge")
