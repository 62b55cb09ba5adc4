"""Handwritten digits: the smallest real job, to see that a cluster trains.

The data ships inside scikit-learn, so nothing is downloaded. Run locally: `make run-local JOB=digits-p3`, two ranks
on the CPU. On GPUs: not measured.
"""

from training_workloads.horovod_job import HorovodJobSpec

__all__ = ["digits_p3", "digits_p4d"]

# The name that `podman build` gives in the README; on a cluster give the address in ECR with `--image`.
_IMAGE = "cdk-training-cluster/training:latest"


def _command(job: str) -> tuple[str, ...]:
    return ("python", "-m", "training.digits", "--output-dir", f"/fsx/runs/{job}")


def digits_p3(name: str = "digits-p3") -> HorovodJobSpec:
    """Two ranks, one V100 each: NCCL over TCP, or over NVLink where both workers are on one node."""
    return HorovodJobSpec(
        name=name,
        image=_IMAGE,
        command=_command(name),
        instance_type="p3.16xlarge",
        workers=2,
        gpus_per_worker=1,
    )


def digits_p4d(name: str = "digits-p4d") -> HorovodJobSpec:
    """Sixteen ranks on two whole nodes: all GPUs and all EFA interfaces of each."""
    return HorovodJobSpec(
        name=name,
        image=_IMAGE,
        command=_command(name),
        instance_type="p4d.24xlarge",
        workers=2,
    )
