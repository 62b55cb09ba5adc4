"""The setup of a prediction, with the rules of its values."""

from dataclasses import dataclass, replace
from typing import Final

from training_workloads.catalog.instances import INSTANCE_TYPES, gpu_instance_type, supported_gpu_type
from training_workloads.catalog.published_rates import MODELS, RATES, PublishedRate
from training_workloads.validation import InputError, Problem, Problems, at_least, check, enforce, one_of, unknown

__all__ = ["MOST_NODES", "TrainingSetup", "may_be_shown", "published_rate", "types_with_rates"]

#: The model was compared with runs of up to 20 nodes; beyond, its latencies are extrapolated.
MOST_NODES: Final = 512

_STORAGE = ("lustre", "memory")
_PRECISIONS = ("mixed", "float32")
_COMPRESSIONS = ("none", "fp16")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSetup:
    """A model on nodes of one type.

    Attributes:
        model: `resnet50` or `mask-rcnn`.
        instance_type: EC2's name.
        nodes: Nodes, with all their GPUs.
        batch_size: Images on each GPU. Default: that of the published rate.
        precision: `mixed` or `float32`.
        compression: `fp16` sends the gradients in float16.
        efa: Whether EFA is used. Default: if the type has it.
        storage: `lustre` reads each epoch from the file system, `memory` from the nodes' memory after the first one.
        gradient_clusters: Clusters of gradients in the graph. Default: those that were counted for the model.

    Raises:
        InputError: A value is not possible, or no rate is published for the GPU.
    """

    model: str
    instance_type: str
    nodes: int = 1
    batch_size: int | None = None
    precision: str = "mixed"
    compression: str = "none"
    efa: bool | None = None
    storage: str = "lustre"
    gradient_clusters: int | None = None

    def __post_init__(self) -> None:
        """Reject values that are not possible, alone or together."""
        enforce(self, _RULES)

    @property
    def uses_efa(self) -> bool:
        """Whether gradients go over EFA."""
        return bool(gpu_instance_type(self.instance_type).efa_interfaces) if self.efa is None else self.efa

    def on_nodes(self, nodes: int) -> "TrainingSetup":
        """Return this setup on another number of nodes."""
        return replace(self, nodes=nodes)


def published_rate(setup: TrainingSetup) -> PublishedRate:
    """Return the published rate of the setup's GPU."""
    return _rates(setup)[0]


def may_be_shown(setup: TrainingSetup, *, any_batch: bool = False) -> bool:
    """Return whether a prediction may stand beside a job, or be recommended, without a word on its rate.

    With fewer images on a GPU it is slower than its published rate, and nothing is published for more. A ceiling is the
    rate of another framework, which no job of this project reaches.

    Args:
        setup: The setup of the prediction.
        any_batch: Whether the user chose the batch for a search. Default: it is that of a job.
    """
    rate = published_rate(setup)
    return (any_batch or setup.batch_size in (None, rate.batch)) and not rate.is_ceiling


def types_with_rates(model: str, precision: str) -> list[str]:
    """Return the types of today with a price for whose GPUs a rate is published.

    Raises:
        InputError: The model or the precision is not known, or nothing is published for them together.
    """
    check(unknown("model", model, MODELS), one_of("precision", precision, _PRECISIONS))
    gpus = {rate.gpu for rate in RATES if (rate.model, rate.precision) == (model, precision)}
    priced = (one for one in INSTANCE_TYPES.values() if one.price and not one.retired)
    types = [one.name for one in priced if one.gpu and one.gpu.model in gpus]
    if not types:
        allowed = f"no rate of {model} is published in this precision"
        raise InputError(Problem(path=("precision",), given=precision, allowed=allowed, fix="choose another"))
    return types


def _rates(setup: TrainingSetup) -> list[PublishedRate]:
    gpu = INSTANCE_TYPES[setup.instance_type].gpu
    wanted = (setup.model, gpu.model if gpu else "", setup.precision)
    return [rate for rate in RATES if (rate.model, rate.gpu, rate.precision) == wanted]


def _model_is_known(setup: TrainingSetup) -> Problems:
    yield from unknown("model", setup.model, MODELS)


def _type_has_gpus(setup: TrainingSetup) -> Problems:
    yield from supported_gpu_type(setup.instance_type)


def _numbers_are_positive(setup: TrainingSetup) -> Problems:
    yield from at_least("nodes", setup.nodes, 1, MOST_NODES)
    if setup.batch_size is not None:
        yield from at_least("batch_size", setup.batch_size, 1)
    if setup.gradient_clusters is not None:
        yield from at_least("gradient_clusters", setup.gradient_clusters, 1)


def _names_are_known(setup: TrainingSetup) -> Problems:
    yield from one_of("precision", setup.precision, _PRECISIONS)
    yield from one_of("compression", setup.compression, _COMPRESSIONS)
    yield from one_of("storage", setup.storage, _STORAGE)


def _the_rate_is_published(setup: TrainingSetup) -> Problems:
    if list(_type_has_gpus(setup)) or setup.model not in MODELS or setup.precision not in _PRECISIONS or _rates(setup):
        return
    known = types_with_rates(setup.model, setup.precision)
    gpu = gpu_instance_type(setup.instance_type).gpu
    allowed = f"no rate of {setup.model} in {setup.precision} precision is published for {gpu.model if gpu else ''}"
    fix = f"choose one of {', '.join(known)}"
    yield Problem(path=("instance_type",), given=setup.instance_type, allowed=allowed, fix=fix)


def _the_type_has_efa(setup: TrainingSetup) -> Problems:
    if setup.efa and not list(_type_has_gpus(setup)) and not gpu_instance_type(setup.instance_type).efa_interfaces:
        allowed = f"{setup.instance_type} has no EFA"
        yield Problem(path=("efa",), given=True, allowed=allowed, fix="choose another type, or omit it")


def _images_fit_into_memory(setup: TrainingSetup) -> Problems:
    if setup.storage != "memory" or list(_type_has_gpus(setup)) or setup.model not in MODELS:
        return
    model = MODELS[setup.model]
    needed = model.training_images * model.bytes_per_image / 2**30
    # A pod gets nine tenths of a node's memory; half of that is left to the ranks.
    held = 0.45 * gpu_instance_type(setup.instance_type).memory_gib * max(1, setup.nodes)
    if held < needed:
        allowed = f"the images are {needed:,.0f} GiB, and these nodes can hold {held:,.0f} GiB beside the ranks"
        yield Problem(path=("storage",), given=setup.storage, allowed=allowed, fix="use lustre, or more nodes")


def _a_step_is_at_most_an_epoch(setup: TrainingSetup) -> Problems:
    wrong = (*_type_has_gpus(setup), *_numbers_are_positive(setup))
    if wrong or setup.model not in MODELS or not _rates(setup):
        return
    images = MODELS[setup.model].training_images
    on_gpu = setup.batch_size or published_rate(setup).batch
    gpus_of_node = gpu_instance_type(setup.instance_type).gpus
    gpus = gpus_of_node * setup.nodes
    if gpus * on_gpu <= images:
        return
    allowed = f"the global batch would be {gpus * on_gpu:,} images, and an epoch has {images:,}"
    if setup.batch_size is None:
        fix = f"give {images // (gpus_of_node * on_gpu)} or less, or a smaller batch for each GPU"
        yield Problem(path=("nodes",), given=setup.nodes, allowed=allowed, fix=fix)
    else:
        fix = f"give {images // gpus} or less, or fewer nodes"
        yield Problem(path=("batch_size",), given=setup.batch_size, allowed=allowed, fix=fix)


_RULES = (
    _model_is_known,
    _type_has_gpus,
    _numbers_are_positive,
    _names_are_known,
    _the_rate_is_published,
    _the_type_has_efa,
    _images_fit_into_memory,
    _a_step_is_at_most_an_epoch,
)
