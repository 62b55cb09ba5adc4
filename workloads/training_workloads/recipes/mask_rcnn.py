"""Mask R-CNN with ResNet-50-FPN on COCO 2017, 24 epochs, from TFRecord shards on Lustre: docs/jobs/mask-rcnn.md.

    trainctl render mask-rcnn-p4d --image <address>
    trainctl submit dist/jobs/mask-rcnn-p4d.k8s.yaml

The backbone is that of the finished run of the ResNet-50 recipe for the same hardware, such as
/fsx/runs/resnet50-p4d/model.keras. The program's recipe is `throughput`: 4 images on each GPU, 64 on the 16 GPUs of two
nodes, 0.0125 for 8 images, gradients clipped. `--recipe reference` takes one image on each GPU.

Accuracy: box AP 38.25 to 38.44 and mask AP 35.08 to 35.18 on 8 to 32 V100 with 4 images each (published,
aws-samples/mask-rcnn-tensorflow, 24 epochs). Here: not measured.

The gradients of a step are 177 MB in float32: 110 to 120 ms over 25 Gb/s of TCP, of a step of 540 ms on a V100 (derived
from the published 237 images/s on 32 V100 and from ResNet-50's 65 to 70 ms). They are sent as they are, although the
backward pass hides only a part of a transfer: 41 % in published runs (docs/plan-validation.md).
"""

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.volumes import RUNS_DIRECTORY, SharedVolume
from training_workloads.mpijob.programs import LOCAL_IMAGE, MASK_RCNN

__all__ = ["mask_rcnn_p3dn", "mask_rcnn_p4d", "mask_rcnn_spot"]

#: Where `stage-data` puts the files of `s3://<bucket>/data/coco/`.
DATA_FOLDER = "data/coco"


def _command(job: str, backbone: str, *options: str) -> tuple[str, ...]:
    shared = SharedVolume()
    folders = ("--data-dir", shared.path(DATA_FOLDER), "--output-dir", shared.path(f"{RUNS_DIRECTORY}/{job}"))
    trained = ("--backbone", shared.path(f"{RUNS_DIRECTORY}/{backbone}/model.keras"))
    return (*MASK_RCNN, *folders, *trained, "--recipe", "throughput", *options)


def mask_rcnn_p3dn(name: str = "mask-rcnn-p3dn") -> HorovodJobSpec:
    """Sixteen V100 on two nodes, EFA between them; the image needs its userspace (`EFA_INSTALLER_VERSION`).

    Expected: 127 to 141 images/s on 16 V100, 5.6 hours for 24 epochs (published, aws-samples/mask-rcnn-tensorflow, EKS,
    TensorFlow 1.15 with custom operations; the speed derived from its hours). On p3dn.24xlarge: not measured.
    """
    return HorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name, "resnet50-p3dn"),
        instance_type="p3dn.24xlarge",
        workers=2,
    )


def mask_rcnn_p4d(name: str = "mask-rcnn-p4d") -> HorovodJobSpec:
    """Sixteen A100 on two nodes, EFA between them; the image needs its userspace (`EFA_INSTALLER_VERSION`).

    Expected: more than the 114.5 images/s of 8 A100 with TensorFlow 2 on one node (published, NVIDIA
    DeepLearningExamples, MirroredStrategy, 12 epochs in 3.77 hours). On p4d.24xlarge: not measured.
    """
    return HorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name, "resnet50-p4d"),
        instance_type="p4d.24xlarge",
        workers=2,
    )


def mask_rcnn_spot(name: str = "mask-rcnn-spot") -> ElasticHorovodJobSpec:
    """One to four nodes with eight A100 each on Spot, the learning rate following their number; the image as for P4d.

    A checkpoint every 200 steps: a lost node costs the others about a minute (200 steps of the 280 ms that the rate
    published for P4d's recipe comes to). Damaged records are skipped: an elastic rank that stops at one would leave it
    to the others, one after the other. Time and accuracy: not measured.
    """
    return ElasticHorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name, "resnet50-spot", "--checkpoint-every", "200steps", "--on-bad-data", "skip"),
        instance_type="p4d.24xlarge",
        workers=2,
        max_workers=4,
        scheduling=Scheduling(capacity_type="SPOT"),
    )
