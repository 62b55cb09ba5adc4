"""Handwritten digits: the smallest real job, to see that a cluster trains.

The data ships inside scikit-learn, so nothing is downloaded. Run locally: `make run-local JOB=digits`, two ranks on the
CPU. On GPUs: not measured.
"""

from training_workloads.catalog import gpu_instance_type
from training_workloads.catalog.framework_images import DEFAULT_FRAMEWORK, FRAMEWORKS
from training_workloads.catalog.offers import DEFAULT_INSTANCE_TYPE
from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.volumes import RUNS_DIRECTORY, SharedVolume
from training_workloads.mpijob.programs import DIGITS, LOCAL_IMAGE
from training_workloads.recipes.cluster_fit import node_groups

__all__ = ["digits", "digits_p4d", "digits_p5", "digits_spot"]


def _command(job: str) -> tuple[str, ...]:
    return (*DIGITS, "--output-dir", SharedVolume().path(f"{RUNS_DIRECTORY}/{job}"))


def _instance_type() -> str:
    supported = FRAMEWORKS[DEFAULT_FRAMEWORK]
    nodes = [gpu_instance_type(each.instance_type) for each in node_groups()]
    fitting = (each.name for each in nodes if each.gpu and supported.includes(each.gpu))
    return next(fitting, DEFAULT_INSTANCE_TYPE)


def digits(name: str = "digits") -> HorovodJobSpec:
    """Two ranks, one GPU each, over TCP, or over NVLink where both workers are on one node.

    The nodes are those of the first GPU node group of `cluster.yaml` in the current folder whose GPU TensorFlow 2.15
    supports; without one they are p4d.24xlarge. TCP, because the gradients of this network are small, and so every
    image and every type can run it.
    """
    return HorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name),
        instance_type=_instance_type(),
        workers=2,
        gpus_per_worker=1,
        efa_interfaces=0,
    )


def digits_p4d(name: str = "digits-p4d") -> HorovodJobSpec:
    """Sixteen ranks on two whole nodes: all GPUs and all EFA interfaces of each.

    The image needs the EFA userspace (the Dockerfile's `EFA_INSTALLER_VERSION`), or NCCL ends with an error.
    """
    return HorovodJobSpec(name=name, image=LOCAL_IMAGE, command=_command(name), instance_type="p4d.24xlarge", workers=2)


def digits_p5(name: str = "digits-p5") -> HorovodJobSpec:
    """Sixteen ranks on two whole nodes, with the 32 EFA interfaces of each; the image as for P4d."""
    return HorovodJobSpec(name=name, image=LOCAL_IMAGE, command=_command(name), instance_type="p5.48xlarge", workers=2)


def digits_spot(name: str = "digits-spot") -> ElasticHorovodJobSpec:
    """One to four workers with one A100 each on Spot nodes, over TCP; a lost worker costs the current epoch."""
    return ElasticHorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name),
        instance_type="p4d.24xlarge",
        workers=2,
        gpus_per_worker=1,
        efa_interfaces=0,
        max_workers=4,
        scheduling=Scheduling(capacity_type="SPOT"),
    )
