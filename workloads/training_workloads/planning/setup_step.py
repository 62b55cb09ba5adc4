"""The step of a setup: the published computation, and the project's own settings of Horovod."""

from dataclasses import dataclass

from training_workloads.catalog.instance_type import InstanceType
from training_workloads.catalog.instances import gpu_instance_type
from training_workloads.catalog.published_rates import MODELS, PublishedRate, TrainedModel
from training_workloads.jobs.rank_environment import hierarchical_all_reduce, rank_environment
from training_workloads.jobs.worker_resources import worker_resources
from training_workloads.planning.all_reduce import Network, all_reduce_seconds, sent_bytes
from training_workloads.planning.calibration import between_nodes, fitted_constants, within_node
from training_workloads.planning.step_time import GradientClusters, StepConstants, overhead_seconds
from training_workloads.planning.training_setup import TrainingSetup, published_rate

__all__ = ["SetupStep", "setup_step"]


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
