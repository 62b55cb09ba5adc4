"""The prediction of a training run on a number of nodes: speed, the parts of a step, storage, price.

A step has the published computation, and the project's own settings of Horovod.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

from training_workloads.catalog.instance_type import InstanceType
from training_workloads.catalog.instances import gpu_instance_type
from training_workloads.catalog.lustre import LUSTRE_SMALLEST_GIB, LUSTRE_THROUGHPUTS, lustre_throughput_mbps
from training_workloads.catalog.published_rates import MODELS, PublishedRate, TrainedModel
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.jobs.worker_resources import worker_resources
from training_workloads.planning.all_reduce import Network, all_reduce_seconds, sent_bytes
from training_workloads.planning.calibration import between_nodes, fitted_constants, within_node
from training_workloads.planning.step_time import GradientClusters, StepConstants, StepTime, overhead_seconds
from training_workloads.planning.storage_sizing import LustreSizing, size_lustre
from training_workloads.planning.training_setup import TrainingSetup, published_rate

__all__ = ["Prediction", "SetupStep", "predict", "setup_step"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupStep:
    """The parts of a step without its input, in seconds.

    Attributes:
        network: The links between the GPUs.
        batch: Images on each GPU.
        vcpus: vCPUs for the input, over all ranks.
        rate: The published rate.
        computation: Step of one GPU alone.
        coordination: Time lost to the other ranks.
        exposed: All-reduce that nothing hides.
        all_reduce: The whole all-reduce.
    """

    network: Network
    batch: int
    vcpus: int
    rate: PublishedRate
    computation: float
    coordination: float
    exposed: float
    all_reduce: float


def setup_step(setup: TrainingSetup) -> SetupStep:
    """Return the step of a setup."""
    facts, rate, model = gpu_instance_type(setup.instance_type), published_rate(setup), MODELS[setup.model]
    resources = worker_resources(facts, efa_interfaces=None if setup.uses_efa else 0)
    variables = {**rank_environment(resources, 2), **hierarchical_all_reduce(facts, resources, setup.nodes)}
    buffer = int(variables["HOROVOD_FUSION_THRESHOLD"])
    staged = "HOROVOD_HIERARCHICAL_ALLREDUCE" in variables
    network = _network(facts, setup)
    gradients = sent_bytes(model.parameters, float16=setup.compression == "fp16")
    constants, clusters = fitted_constants(), _clusters(model, setup)
    batch = setup.batch_size or rate.batch
    computation = batch * _seconds_per_image(rate, network, model, constants)
    coordination, exposed = overhead_seconds(
        gradients, computation, network, clusters, constants, fusion_buffer_bytes=buffer, staged=staged
    )
    return SetupStep(
        network=network,
        batch=batch,
        vcpus=resources.cpus_per_rank * network.ranks,
        rate=rate,
        computation=computation,
        coordination=coordination,
        exposed=exposed,
        all_reduce=all_reduce_seconds(gradients, network, fusion_buffer_bytes=buffer, staged=staged),
    )


def _network(facts: InstanceType, setup: TrainingSetup) -> Network:
    """Return the links. Without EFA, the one interface with an IP address has the bandwidth of its card."""
    gpu = facts.gpu.model if facts.gpu else ""
    cards = 1 if setup.uses_efa else max(1, facts.efa_interfaces)
    return Network(
        within=within_node(gpu),
        between=between_nodes(facts.network_gbps / cards, instance_type=facts.name if setup.uses_efa else ""),
        gpus_per_node=facts.gpus,
        nodes=setup.nodes,
    )


def _clusters(model: TrainedModel, setup: TrainingSetup) -> GradientClusters:
    count = model.gradient_clusters if setup.gradient_clusters is None else setup.gradient_clusters
    return GradientClusters(count=count, last_bytes=model.last_cluster_bytes)


def _seconds_per_image(rate: PublishedRate, network: Network, model: TrainedModel, constants: StepConstants) -> float:
    """Return the computation of one image on one GPU; from the rate of a node, less what its ranks lost."""
    step = rate.of_gpus * rate.batch / rate.images_per_second
    if rate.of_gpus > 1:
        node = Network(within=network.within, between=network.between, gpus_per_node=rate.of_gpus, nodes=1)
        clusters = GradientClusters(count=model.gradient_clusters, last_bytes=model.last_cluster_bytes)
        gradients = sent_bytes(model.parameters, float16=False)
        step -= sum(overhead_seconds(gradients, step, node, clusters, constants, fusion_buffer_bytes=2**40))
    return step / rate.batch


#: Weights, and the momentum of each, in float32.
_CHECKPOINT_BYTES_PER_PARAMETER: Final = 8

#: Below this share of a step, a loss is not what limits it.
_NOTABLE: Final = 0.1

#: The forward pass, of which an evaluation consists, is a third of a step (docs/adr/0020).
_EVALUATION_SPEED: Final = 3

#: Share of a measured core that a vCPU of EC2 reaches: it is half a core, and of an older processor on P3. An estimate,
#: which docs/jobs/resnet50.md uses too.
_LEAST_OF_A_CORE: Final = 0.25
_MOST_OF_A_CORE: Final = 0.40


@dataclass(frozen=True, kw_only=True, slots=True)
class InputSupply:
    """Images per second that the vCPUs of all ranks prepare, by the lower and the higher estimate of a vCPU."""

    least: float
    most: float

    @property
    def expected(self) -> float:
        """The middle of the estimates."""
        return (self.least + self.most) / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """The prediction for one setup. Times are in seconds, prices in dollars.

    Attributes:
        setup: The setup that is predicted.
        gpus: GPUs, and so ranks.
        global_batch: Images of a step.
        step: The parts of a step.
        images_per_second: Images per second, over all ranks.
        efficiency_of_one_gpu: Share of `gpus` times the rate of one GPU.
        efficiency_of_one_node: Share of `nodes` times the rate of one node.
        all_reduce_seconds: The whole all-reduce, hidden or not.
        supply: Images that the CPUs prepare; None if no rate was measured for the model: then nothing waits for images.
        vcpus: vCPUs for the input, over all ranks.
        vcpus_needed: vCPUs with which no rank waits for images, by the middle of the estimates; None as `supply`.
        lustre: The file system that serves these images, read from its disks; None for images from memory.
        evaluation_seconds: Evaluation at the end of an epoch.
        checkpoint_seconds: Write of a checkpoint to Lustre, in a thread beside the training.
        epoch_seconds: An epoch with its evaluation.
        epochs: Epochs to the accuracy; None where no recipe is published for this global batch.
        accuracy: The accuracy that they reach.
        usd_per_epoch: Price of the instances for an epoch; None if the type has no price.
        bottleneck: What limits the speed: input, all-reduce, coordination or GPU. Never the storage, which is sized
            for the speed.
        rate: The published rate of the GPU.
    """

    setup: TrainingSetup
    gpus: int
    global_batch: int
    step: StepTime
    images_per_second: float
    efficiency_of_one_gpu: float
    efficiency_of_one_node: float
    all_reduce_seconds: float
    supply: InputSupply | None
    vcpus: int
    vcpus_needed: int | None
    lustre: LustreSizing | None
    evaluation_seconds: float
    checkpoint_seconds: float
    epoch_seconds: float
    epochs: int | None
    accuracy: str
    usd_per_epoch: float | None
    bottleneck: str
    rate: PublishedRate

    @property
    def seconds_to_accuracy(self) -> float | None:
        """Seconds of all epochs, without the start."""
        return self.epochs * self.epoch_seconds if self.epochs else None

    @property
    def usd_to_accuracy(self) -> float | None:
        """Price of the instances for all epochs."""
        return self.epochs * self.usd_per_epoch if self.epochs and self.usd_per_epoch is not None else None


def predict(setup: TrainingSetup) -> Prediction:
    """Return the prediction for a setup.

    Raises:
        InputError: A value is not possible, or nothing is published for it.
    """
    timed = setup_step(setup)
    model = MODELS[setup.model]
    gpus, batch = timed.network.ranks, timed.network.ranks * timed.batch
    supply = _supply(timed, model)
    step = _with_input(timed, batch, supply)
    speed = batch / step.total
    epochs, accuracy = _recipe(model, batch)
    lustre = _lustre(setup, model, speed)
    evaluation = model.evaluation_images / _evaluation_speed(speed, supply, lustre)
    epoch = math.ceil(model.training_images / batch) * step.total + evaluation
    return Prediction(
        setup=setup,
        gpus=gpus,
        global_batch=batch,
        step=step,
        images_per_second=speed,
        efficiency_of_one_gpu=speed * timed.computation / batch,
        efficiency_of_one_node=speed / (timed.network.nodes * _rate_of_one_node(setup, speed)),
        all_reduce_seconds=timed.all_reduce,
        supply=supply,
        vcpus=timed.vcpus,
        vcpus_needed=_vcpus_needed(timed, batch, step, supply),
        lustre=lustre,
        evaluation_seconds=evaluation,
        checkpoint_seconds=_checkpoint_seconds(model, lustre),
        epoch_seconds=epoch,
        epochs=epochs,
        accuracy=accuracy,
        usd_per_epoch=_usd(setup, epoch),
        bottleneck=_bottleneck(step),
        rate=timed.rate,
    )


def _supply(timed: SetupStep, model: TrainedModel) -> InputSupply | None:
    if model.images_per_core is None:
        return None
    cores = timed.vcpus * model.images_per_core
    return InputSupply(least=cores * _LEAST_OF_A_CORE, most=cores * _MOST_OF_A_CORE)


def _with_input(timed: SetupStep, batch: int, supply: InputSupply | None) -> StepTime:
    """Return the step; images are prepared during the step before, so only what takes longer is a wait."""
    busy = timed.computation + timed.coordination + timed.exposed
    return StepTime(
        computation=timed.computation,
        coordination=timed.coordination,
        exposed_all_reduce=timed.exposed,
        input_wait=max(0.0, batch / supply.expected - busy) if supply else 0.0,
    )


def _vcpus_needed(timed: SetupStep, batch: int, step: StepTime, supply: InputSupply | None) -> int | None:
    """Return the vCPUs for the speed without a wait: with it, they would always be those that are there."""
    if supply is None:
        return None
    return math.ceil(batch / (step.total - step.input_wait) * timed.vcpus / supply.expected)


def _rate_of_one_node(setup: TrainingSetup, speed: float) -> float:
    if setup.nodes == 1:
        return speed
    # The speed does not depend on the storage, and the memory of one node may be too small for the images.
    timed = setup_step(replace(setup, nodes=1, storage="lustre"))
    batch = timed.network.ranks * timed.batch
    return batch / _with_input(timed, batch, _supply(timed, MODELS[setup.model])).total


def _recipe(model: TrainedModel, global_batch: int) -> tuple[int | None, str]:
    """Return the epochs and the accuracy of the next larger published batch."""
    for largest in sorted(model.epochs):
        if global_batch <= largest:
            return model.epochs[largest], model.accuracy[largest]
    return None, f"nothing is published for a global batch above {max(model.epochs):,}"


def _lustre(setup: TrainingSetup, model: TrainedModel, speed: float) -> LustreSizing | None:
    if setup.storage == "memory":
        return None
    return size_lustre(
        images_per_second=speed,
        bytes_per_image=model.bytes_per_image,
        dataset_gib=model.training_images * model.bytes_per_image / 2**30,
    )


def _evaluation_speed(speed: float, supply: InputSupply | None, lustre: LustreSizing | None) -> float:
    """Return the images per second of an evaluation: by the GPUs, the CPUs or the file system, whichever is slowest."""
    limits = [speed * _EVALUATION_SPEED]
    if supply:
        limits.append(supply.expected)
    if lustre:
        limits.append(lustre.sustained_mbps * 1e6 / lustre.bytes_per_image)
    return min(limits)


def _checkpoint_seconds(model: TrainedModel, lustre: LustreSizing | None) -> float:
    """Return the time to write one file: by default Lustre keeps it on one server, of the smallest capacity."""
    mbps_per_tib = lustre.throughput_mbps_per_tib if lustre else LUSTRE_THROUGHPUTS["PERSISTENT_2"][0]
    one_server = lustre_throughput_mbps(LUSTRE_SMALLEST_GIB, mbps_per_tib) * 1e6
    return model.parameters * _CHECKPOINT_BYTES_PER_PARAMETER / one_server


def _usd(setup: TrainingSetup, seconds: float) -> float | None:
    price = gpu_instance_type(setup.instance_type).price
    return setup.nodes * price.usd_per_hour * seconds / 3600 if price else None


def _bottleneck(step: StepTime) -> str:
    losses = {
        "input": step.input_wait,
        "all-reduce": step.exposed_all_reduce,
        "coordination": step.coordination,
    }
    name = max(losses, key=lambda each: losses[each])
    return name if losses[name] >= _NOTABLE * step.total else "GPU"
