"""Published rates of one GPU, by model and precision, and the models; none was measured here."""

from dataclasses import dataclass

__all__ = ["ALL_CLUSTERS", "MASK_RCNN", "MODELS", "RATES", "RESNET50", "PublishedRate", "TrainedModel"]

#: Gradients that are sent one by one, as the 161 of ResNet-50: more clusters than any count that matters.
ALL_CLUSTERS = 161

RESNET50 = "resnet50"
MASK_RCNN = "mask-rcnn"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedModel:
    """A model: the gradients that its training step sends, and the epochs of its data set.

    Attributes:
        parameters: Trained weights, each with a gradient.
        gradient_clusters: Clusters of XLA with gradients in the project's graph: 1 sends all of them when the backward
            pass ends (docs/adr/0020).
        last_cluster_bytes: Share of the bytes in the last cluster, which no computation can hide.
        training_images: Images of an epoch.
        evaluation_images: Images of an evaluation.
        bytes_per_image: Average size of a stored image.
        images_per_core: Images that one core prepares in a second; None if it was not measured.
        epochs: Epochs to the accuracy, by the largest global batch for which they are published.
        accuracy: The accuracy after these epochs, by the same batch.
        sources: URLs, or pages of this project.
    """

    parameters: int
    gradient_clusters: int
    last_cluster_bytes: float
    training_images: int
    evaluation_images: int
    bytes_per_image: int
    images_per_core: float | None
    epochs: dict[int, int]
    accuracy: dict[int, str]
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedRate:
    """The rate of one GPU.

    Attributes:
        model: Name of the trained model.
        gpu: NVIDIA's name of the GPU.
        precision: `mixed` or `float32` (with TF32 where the GPU has it).
        batch: Images on the GPU in a step.
        images_per_second: The published rate.
        of_gpus: How many GPUs reached it together. If it is not 1, the loss of a node is part of the rate.
        source: URL or file.
        note: Conditions of the result that a reader must know.
        is_ceiling: Whether it is the rate of another framework that this project's programs do not reach: beside a job
            that runs it would be wrong.
    """

    model: str
    gpu: str
    precision: str
    batch: int
    images_per_second: float
    of_gpus: int = 1
    source: str
    note: str = ""
    is_ceiling: bool = False


_RESNET50_README = (
    "https://github.com/NVIDIA/DeepLearningExamples/blob/master/TensorFlow/Classification/ConvNets/resnet50v1.5/"
    "README.md"
)
_MASK_RCNN_README = (
    "https://github.com/NVIDIA/DeepLearningExamples/blob/master/TensorFlow2/Segmentation/MaskRCNN/README.md"
)
_AWS_MASK_RCNN = "https://github.com/aws-samples/mask-rcnn-tensorflow/blob/master/README.md"
_MLPERF = "https://github.com/mlcommons/training_results_v3.0"
_MLPERF_BATCHES = (
    "https://github.com/mlcommons/logging/blob/master/mlperf_logging/rcp_checker/training_2.0.0/rcps_resnet.json"
)

MODELS = {
    # Clusters and the share of the last one's bytes: docs/adr/0020, mixed precision with gradients sent in float32.
    # Beyond a batch of 8,192 the epochs are those of LARS to 75.9 %, the larger number of MLPerf's ranges.
    RESNET50: TrainedModel(
        parameters=25_557_032,
        gradient_clusters=4,
        last_cluster_bytes=0.024,
        training_images=1_281_167,
        evaluation_images=50_000,
        bytes_per_image=110_000,
        # `make bench-input` on an AMD EPYC (Zen 4) with JPEGs of 500x400: docs/jobs/resnet50.md, "Measured here".
        images_per_core=721,
        epochs={8_192: 90, 13_056: 45, 32_768: 56, 65_536: 86},
        accuracy={
            8_192: "76.3 % top-1",
            13_056: "75.9 % top-1 with LARS",
            32_768: "75.9 % top-1 with LARS",
            65_536: "75.9 % top-1 with LARS",
        },
        sources=(
            "https://pytorch.org/vision/stable/models/generated/torchvision.models.resnet50.html",
            "https://arxiv.org/abs/1706.02677",
            _MLPERF_BATCHES,
        ),
    ),
    # Its clusters were not counted. The limit of half the gradients (docs/adr/0020) makes at least two of them.
    # COCO 2017's training images are an archive of about 18 GB (known, not read: https://cocodataset.org/#download).
    MASK_RCNN: TrainedModel(
        parameters=44_401_393,
        gradient_clusters=2,
        last_cluster_bytes=0.5,
        training_images=118_287,
        evaluation_images=5_000,
        bytes_per_image=160_000,
        images_per_core=None,
        epochs={128: 24},
        accuracy={128: "38.3 box AP, 35.1 mask AP"},
        sources=("https://github.com/pytorch/vision/pull/5773", _AWS_MASK_RCNN),
    ),
}

RATES = (
    PublishedRate(
        model=RESNET50, gpu="V100", precision="mixed", batch=256, images_per_second=1270, source=_RESNET50_README
    ),
    PublishedRate(
        model=RESNET50, gpu="V100", precision="float32", batch=128, images_per_second=412, source=_RESNET50_README
    ),
    PublishedRate(
        model=RESNET50, gpu="A100", precision="mixed", batch=256, images_per_second=2375, source=_RESNET50_README
    ),
    PublishedRate(
        model=RESNET50, gpu="A100", precision="float32", batch=256, images_per_second=909, source=_RESNET50_README
    ),
    PublishedRate(
        model=RESNET50,
        gpu="H100",
        precision="mixed",
        batch=408,
        images_per_second=56_100,
        of_gpus=8,
        source=_MLPERF,
        note="the ceiling: MXNet with DALI (MLPerf v3.0); nothing is published for TensorFlow on H100",
        is_ceiling=True,
    ),
    PublishedRate(
        model=MASK_RCNN,
        gpu="V100",
        precision="mixed",
        batch=4,
        images_per_second=84.1,
        of_gpus=8,
        source=_AWS_MASK_RCNN,
        note="derived from the hours of 24 epochs less those of 12",
    ),
    PublishedRate(
        model=MASK_RCNN, gpu="A100", precision="mixed", batch=4, images_per_second=28.6, source=_MASK_RCNN_README
    ),
)
