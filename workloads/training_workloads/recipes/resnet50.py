"""ResNet-50 v1.5 on ImageNet, 90 epochs, from 1,024 TFRecord shards on Lustre: the page docs/jobs/resnet50.md.

    trainctl render resnet50-p4d --image <address>
    trainctl submit dist/jobs/resnet50-p4d.k8s.yaml

Batch: 256 images on each GPU, 4,096 on the 16 GPUs of two nodes. SGD with a learning rate linear in the batch, after
five epochs of warm-up, holds its accuracy up to about 8,192 images: 76.3 to 76.4 % there (published, arXiv:1706.02677).
Beyond that give `--optimizer lars`, or fewer images to each GPU.

Accuracy: 76.93 to 77.01 % top-1 (published, NVIDIA DeepLearningExamples,
TensorFlow/Classification/ConvNets/resnet50v1.5, on one node, so with half of this batch). Here: not measured.

Precision is the program's default on a GPU: mixed, with the gradients in float32. Over TCP at 25 Gb/s append
`--compression fp16`: the gradients of a step take 65 to 70 ms in float32 and about 33 in float16, of a step of 215 ms
on a V100 (derived, not measured). It rounds them to three digits.
"""

from training_workloads.jobs.elastic_horovod_job import ElasticHorovodJobSpec
from training_workloads.jobs.horovod_job import HorovodJobSpec
from training_workloads.jobs.scheduling import Scheduling
from training_workloads.jobs.volumes import RUNS_DIRECTORY, SharedVolume
from training_workloads.mpijob.programs import LOCAL_IMAGE, RESNET50

__all__ = ["resnet50_p3dn", "resnet50_p4d", "resnet50_p5", "resnet50_spot"]

#: Where `stage-data` puts the files of `s3://<bucket>/data/imagenet/`.
DATA_FOLDER = "data/imagenet"

# cuDNN's faster batch normalization for training, as in NVIDIA's runs. Every job sets the same threads as they do
# (`jobs.rank_environment`); their choices of convolution algorithms are for TensorFlow 1, and omitted.
_ENVIRONMENT = {"TF_USE_CUDNN_BATCHNORM_SPATIAL_PERSISTENT": "1"}


def _command(job: str, *options: str) -> tuple[str, ...]:
    shared = SharedVolume()
    folders = ("--data-dir", shared.path(DATA_FOLDER), "--output-dir", shared.path(f"{RUNS_DIRECTORY}/{job}"))
    return (*RESNET50, *folders, "--batch-size", "256", *options)


def resnet50_p3dn(name: str = "resnet50-p3dn") -> HorovodJobSpec:
    """Sixteen V100 on two nodes, EFA between them; the image needs its userspace (`EFA_INSTALLER_VERSION`).

    Expected: 9,510 images/s for each node, about 3.5 hours on one, and 17,250 on the 16 V100 of one DGX-2, which is
    1.9 hours (published, NVIDIA DeepLearningExamples, TensorFlow 1 with mixed precision and XLA; the last one derived).
    On p3dn.24xlarge: not measured.
    """
    return HorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name),
        instance_type="p3dn.24xlarge",
        workers=2,
        environment=dict(_ENVIRONMENT),
    )


def resnet50_p4d(name: str = "resnet50-p4d") -> HorovodJobSpec:
    """Sixteen A100 on two nodes, EFA between them; the image needs its userspace (`EFA_INSTALLER_VERSION`).

    Expected: 17,400 images/s for each node, about 2 hours on one (published, NVIDIA DeepLearningExamples, DGX A100,
    TensorFlow 1 with mixed precision and XLA). The gradients of a step take 3.9 ms between two nodes, of 118 ms: 3 %
    even if nothing hid them, so about 1 hour on two (derived). On p4d.24xlarge: not measured.
    """
    return HorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name),
        instance_type="p4d.24xlarge",
        workers=2,
        environment=dict(_ENVIRONMENT),
    )


def resnet50_p5(name: str = "resnet50-p5") -> HorovodJobSpec:
    """Sixteen H100 on two nodes, 32 EFA interfaces each; the image as for P4d.

    Expected: nothing is published for TensorFlow on H100. The ceiling is 56,100 images/s on 8 (published, MLPerf v3.0,
    MXNet with DALI); at that rate a vCPU would have to decode 292 images/s, so the input decides.
    Append `--cache decoded` where `data_wait_share_per_rank` is high: see docs/jobs/resnet50.md. Not measured.
    """
    return HorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name),
        instance_type="p5.48xlarge",
        workers=2,
        environment=dict(_ENVIRONMENT),
    )


def resnet50_spot(name: str = "resnet50-spot") -> ElasticHorovodJobSpec:
    """One to four nodes with eight A100 each on Spot, the learning rate following their number; the image as for P4d.

    A checkpoint every 400 steps: a lost node costs the others less than a minute (400 steps of the 118 ms that the
    published rate of an A100 comes to). Damaged records are skipped: an elastic rank that stops at one would leave it
    to the others, one after the other. Time and accuracy: not measured.
    """
    return ElasticHorovodJobSpec(
        name=name,
        image=LOCAL_IMAGE,
        command=_command(name, "--checkpoint-every", "400steps", "--on-bad-data", "skip"),
        instance_type="p4d.24xlarge",
        workers=2,
        max_workers=4,
        environment=dict(_ENVIRONMENT),
        scheduling=Scheduling(capacity_type="SPOT"),
    )
