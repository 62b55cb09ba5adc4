"""Published speeds of training on several GPUs, with which predictions are compared; none was measured here."""

from dataclasses import dataclass

from training_workloads.catalog.published_rates import ALL_CLUSTERS, MASK_RCNN, RESNET50

__all__ = ["PUBLISHED_RUNS", "PublishedRun"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedRun:
    """One row: what ran, on what, and how fast.

    Attributes:
        name: The model and the hardware.
        model: Name of the trained model.
        gpu: NVIDIA's name.
        gpus: GPUs in all.
        gpus_per_node: GPUs of a node.
        network_gbps: Line rate between nodes in Gb/s; 0 with one node.
        batch: Images on each GPU in a step.
        images_per_second: The published rate.
        precision: `mixed` or `float32` (with TF32 where the GPU has it).
        base_gpus: GPUs of the smaller run of the same program, from which the computation is taken.
        base_images_per_second: The rate of that run.
        clusters: Clusters of gradients in the graph: 1 where XLA compiled it without a limit.
        fitted: Which constant was fitted to this row; empty for a row that only tests the model.
        source: URL.
        note: Conditions of the result that a reader must know.
    """

    name: str
    model: str = RESNET50
    gpu: str
    gpus: int
    gpus_per_node: int = 8
    network_gbps: float = 0
    batch: int
    images_per_second: float
    precision: str = "mixed"
    base_gpus: int = 1
    base_images_per_second: float
    clusters: int = ALL_CLUSTERS
    fitted: str = ""
    source: str
    note: str = ""

    @property
    def nodes(self) -> int:
        """Nodes of the run."""
        return self.gpus // self.gpus_per_node


_NVIDIA = "https://github.com/NVIDIA/DeepLearningExamples"
_TENSORFLOW = f"{_NVIDIA}/blob/master/TensorFlow/Classification/ConvNets/resnet50v1.5/README.md"
_PYTORCH = f"{_NVIDIA}/tree/master/PyTorch/Classification/ConvNets/resnet50v1.5"
_DLPERF = "https://github.com/Oneflow-Inc/DLPerf"
# Read 2026-11-23 at commit d9408d7e: its figures of mixed precision replace those of commit 16973983, with a batch that
# it calls too large for the GPU, and without a run on 32.
_DLPERF_MIXED = f"{_DLPERF}/tree/master/NVIDIADeepLearningExamples/TensorFlow/Classification/ConvNets/resnet50v1.5"
_AMAZON = "https://github.com/horovod/horovod/issues/779"
_EARLY = "https://github.com/aws-samples/deep-learning-models/issues/2"
_MASK_RCNN = "https://github.com/aws-samples/mask-rcnn-tensorflow/blob/master/README.md"
_SEED = "https://aws.amazon.com/blogs/opensource/optimizing-distributed-deep-learning-performance-amazon-eks/"


def _one_node(
    name: str,
    gpu: str,
    batch: int,
    rates: tuple[float, float],
    *,
    gpus: int = 8,
    precision: str = "mixed",
    clusters: int = 1,
    fitted: str = "",
) -> PublishedRun:
    """Return a row of NVIDIA's tables: one GPU, and all of a node."""
    return PublishedRun(
        name=name,
        gpu=gpu,
        gpus=gpus,
        gpus_per_node=gpus,
        batch=batch,
        images_per_second=rates[1],
        precision=precision,
        base_images_per_second=rates[0],
        clusters=clusters,
        fitted=fitted,
        source=_PYTORCH if name.startswith("PyTorch") else _TENSORFLOW,
    )


def _scaled(
    name: str,
    source: str,
    gbps: float,
    batch: int,
    rates: dict[int, float],
    *,
    precision: str = "mixed",
    clusters: int = ALL_CLUSTERS,
    fitted: int = 0,
    note: str = "",
) -> tuple[PublishedRun, ...]:
    """Return rows of one program on V100, by the number of GPUs; the first one is the base."""
    base, *others = rates
    return tuple(
        PublishedRun(
            name=name,
            gpu="V100",
            gpus=gpus,
            network_gbps=gbps if gpus > 8 else 0,
            batch=batch,
            images_per_second=rates[gpus],
            precision=precision,
            base_gpus=base,
            base_images_per_second=rates[base],
            clusters=clusters,
            fitted="hidden share" if gpus == fitted else "",
            source=source,
            note=note,
        )
        for gpus in others
    )


_P3 = "p3.16xlarge, TensorFlow 1, Horovod, mixed precision"

PUBLISHED_RUNS = (
    _one_node("DGX-1, TensorFlow 1, mixed, XLA", "V100", 256, (1270, 9510), fitted="coordination"),
    _one_node("DGX-1, TensorFlow 1, float32, XLA", "V100", 128, (412, 3170), precision="float32"),
    _one_node("DGX-2, TensorFlow 1, mixed, XLA", "V100", 256, (1300, 17_250), gpus=16),
    _one_node("DGX A100, TensorFlow 1, mixed, XLA", "A100", 256, (2375, 17_400), fitted="coordination"),
    _one_node("DGX A100, TensorFlow 1, TF32, XLA", "A100", 256, (909, 7000), precision="float32"),
    _one_node("PyTorch, DALI, mixed, DGX-1", "V100", 256, (1200, 8322), clusters=ALL_CLUSTERS),
    _one_node("PyTorch, DALI, mixed, DGX A100", "A100", 256, (2470, 16_621), clusters=ALL_CLUSTERS),
    *_scaled(
        "InfiniBand, TensorFlow 1, Horovod, float32",
        _DLPERF,
        100,
        128,
        {1: 362.4, 8: 2722, 16: 5099, 32: 9515},
        precision="float32",
    ),
    *_scaled(
        "InfiniBand, TensorFlow 2.3, float32",
        _DLPERF,
        100,
        128,
        {1: 322, 8: 2459, 16: 4850, 32: 9418},
        precision="float32",
    ),
    *_scaled(
        "InfiniBand, TensorFlow 1, Horovod, mixed, no XLA",
        _DLPERF_MIXED,
        100,
        224,
        {1: 945.18, 8: 6903.42, 16: 12_021.09, 32: 24_734.22},
    ),
    *_scaled(
        "InfiniBand, TensorFlow 1, Horovod, mixed, XLA",
        _DLPERF_MIXED,
        100,
        224,
        {1: 1198.55, 8: 8588.45, 16: 14_931.03, 32: 29_171.69},
        clusters=1,
    ),
    *_scaled(
        _P3,
        _AMAZON,
        25,
        256,
        {1: 872, 8: 6679, 16: 12_828, 32: 23_870, 64: 47_195, 128: 89_783},
        fitted=64,
        note="synthetic images; a batch of 256 and gradients in float32 are assumed",
    ),
    *_scaled(
        _P3,
        _SEED,
        25,
        256,
        {1: 872, 160: 98_000},
        note="unconfirmed: the figure is not in the part of the page that could be read; the rate of one GPU is "
        "that of Horovod issue 779, by the same author",
    ),
    *_scaled(
        "p3.16xlarge, TensorFlow 1, 2018, real images",
        _EARLY,
        25,
        256,
        {1: 740, 8: 5000, 16: 9860, 32: 21_300, 64: 37_000},
        note="a user's runs; more efficient on 32 GPUs than on 8",
    ),
    *(
        PublishedRun(
            name="Mask R-CNN, p3dn.24xlarge, TensorFlow 1",
            model=MASK_RCNN,
            gpu="V100",
            gpus=gpus,
            network_gbps=100,
            batch=4,
            images_per_second=rate,
            base_gpus=8,
            base_images_per_second=84.1,
            source=_MASK_RCNN,
            note="steady speed, derived from the hours of 24 epochs less those of 12",
        )
        for gpus, rate in {16: 158.3, 32: 283.7}.items()
    ),
)
