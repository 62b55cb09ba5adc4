"""The constants of the model, each fitted to named rows, and the links that follow from them."""

import statistics
from collections.abc import Iterable
from functools import cache

from training_workloads.catalog.all_reduce_curves import (
    EFA_PAIRS,
    NVLINK_GIGABYTES,
    WITHIN_NODE_BUS_GIGABYTES,
    BandwidthPoint,
)
from training_workloads.catalog.instances import INSTANCE_TYPES
from training_workloads.catalog.published_rates import MODELS, RESNET50
from training_workloads.catalog.published_runs import PUBLISHED_RUNS, PublishedRun
from training_workloads.planning.all_reduce import Link, Network, all_reduce_seconds, sent_bytes
from training_workloads.planning.step_time import GradientClusters, StepConstants, exposed_seconds, overhead_seconds

__all__ = [
    "FUSION_BUFFER_BYTES",
    "between_nodes",
    "computation_seconds",
    "fit",
    "fitted_constants",
    "hop_seconds",
    "is_sent_by_jobs",
    "line_rate_share",
    "pair_network",
    "predicted_rate",
    "run_network",
    "within_node",
]

#: Horovod's default when the rows were published (https://github.com/horovod/horovod/pull/3241 names the change).
FUSION_BUFFER_BYTES = 64 * 2**20

_GIGA = 1e9
_GPUS = 8
_NO_CONSTANTS = StepConstants(coordination_seconds=0.0, hidden_share=0.0)


def _largest(instance_type: str) -> BandwidthPoint:
    points = [point for point in EFA_PAIRS if point.instance_type == instance_type]
    return max(points, key=lambda point: point.message_bytes)


@cache
def line_rate_share() -> float:
    """Return the share of a network's line rate that a large all-reduce reaches.

    Fitted to the pair with the slower network, at its largest message: there the network decides, not NVLink.
    """
    slowest = min({point.instance_type for point in EFA_PAIRS}, key=lambda name: INSTANCE_TYPES[name].network_gbps)
    point = _largest(slowest)
    ranks = 2 * _GPUS
    sent = point.bus_gigabytes * _GIGA / (2 * (ranks - 1) / ranks)
    return sent / _line_rate(INSTANCE_TYPES[slowest].network_gbps)


def within_node(gpu: str) -> Link:
    """Return the link between the GPUs of a node.

    If no result was found, NVLink carries the same share of its line rate as on A100 (derived). GPUs without NVLink
    are not known.
    """
    share = WITHIN_NODE_BUS_GIGABYTES["A100"] / NVLINK_GIGABYTES["A100"]
    gigabytes = WITHIN_NODE_BUS_GIGABYTES.get(gpu, NVLINK_GIGABYTES[gpu] * share)
    return Link(bytes_per_second=gigabytes * _GIGA)


def between_nodes(network_gbps: float, *, instance_type: str = "") -> Link:
    """Return the link of a node to the others; without a result of its type, with the slower latency of those known."""
    return Link(bytes_per_second=_line_rate(network_gbps) * line_rate_share(), hop_seconds=hop_seconds(instance_type))


def is_sent_by_jobs(message_bytes: int) -> bool:
    """Return whether jobs send messages of a size: from a cluster of ResNet-50's gradients to a full fusion buffer.

    The rows of these sizes give the latency of a hop. In larger messages it hardly shows: they imply mostly the
    error of the bandwidth. No job of the plan sends smaller ones.
    """
    model = MODELS[RESNET50]
    cluster = sent_bytes(model.parameters, float16=False) / model.gradient_clusters
    return cluster <= message_bytes <= FUSION_BUFFER_BYTES


@cache
def hop_seconds(instance_type: str = "", message_bytes: int | None = None) -> float:
    """Return the latency of a hop: half of the time that a pair's all-reduce takes beyond its transfer.

    Args:
        instance_type: The type of the pair. Default, and for a type without a result: the slower pair.
        message_bytes: The size whose row is used. Default: the mean of the sizes that jobs send.
    """
    hops: dict[str, list[float]] = {}
    for point in EFA_PAIRS:
        wanted = is_sent_by_jobs(point.message_bytes) if message_bytes is None else point.message_bytes == message_bytes
        if wanted:
            hops.setdefault(point.instance_type, []).append(_hop_of(point))
    means = {name: statistics.fmean(found) for name, found in hops.items()}
    return means.get(instance_type, max(means.values()))


def _hop_of(point: BandwidthPoint) -> float:
    ranks = 2 * _GPUS
    seconds = 2 * (ranks - 1) / ranks * point.message_bytes / (point.bus_gigabytes * _GIGA)
    transfer = all_reduce_seconds(point.message_bytes, pair_network(point.instance_type, hop=0.0))
    return max(0.0, seconds - transfer) / 2


def pair_network(instance_type: str, *, hop: float) -> Network:
    """Return the network of two nodes of a type with EFA."""
    facts = INSTANCE_TYPES[instance_type]
    gpu = facts.gpu.model if facts.gpu else ""
    rate = _line_rate(facts.network_gbps) * line_rate_share()
    between = Link(bytes_per_second=rate, hop_seconds=hop)
    return Network(within=within_node(gpu), between=between, gpus_per_node=facts.gpus, nodes=2)


def _line_rate(network_gbps: float) -> float:
    return network_gbps * _GIGA / 8


def run_network(run: PublishedRun, gpus: int | None = None) -> Network:
    """Return the network of a published run, or of its base."""
    count = run.gpus if gpus is None else gpus
    return Network(
        within=within_node(run.gpu),
        between=between_nodes(run.network_gbps or 1),
        gpus_per_node=min(count, run.gpus_per_node),
        nodes=max(1, count // run.gpus_per_node),
    )


def _clusters(run: PublishedRun) -> GradientClusters:
    return GradientClusters(count=run.clusters, last_bytes=0.0)


def _overhead(run: PublishedRun, gpus: int, computation: float, constants: StepConstants) -> tuple[float, float]:
    gradients = sent_bytes(MODELS[run.model].parameters, float16=False)
    network = run_network(run, gpus)
    return overhead_seconds(
        gradients, computation, network, _clusters(run), constants, fusion_buffer_bytes=FUSION_BUFFER_BYTES
    )


def computation_seconds(run: PublishedRun, constants: StepConstants) -> float:
    """Return the computation of a step: that of the base run, less what its ranks lost to each other."""
    step = run.base_gpus * run.batch / run.base_images_per_second
    return step - sum(_overhead(run, run.base_gpus, step, constants))


def predicted_rate(run: PublishedRun, constants: StepConstants) -> float:
    """Return the images per second that the model predicts for a published run."""
    computation = computation_seconds(run, constants)
    step = computation + sum(_overhead(run, run.gpus, computation, constants))
    return run.gpus * run.batch / step


def fit(one_node: Iterable[PublishedRun], several_nodes: Iterable[PublishedRun]) -> StepConstants:
    """Return the constants that the median of the rows implies: the coordination, and the hidden share."""
    coordination = statistics.median(_implied_coordination(run) for run in one_node)
    hidden = statistics.median(_implied_hidden_share(run, coordination) for run in several_nodes)
    return StepConstants(coordination_seconds=coordination, hidden_share=hidden)


def _implied_coordination(run: PublishedRun) -> float:
    computation = computation_seconds(run, _NO_CONSTANTS)
    step = run.gpus * run.batch / run.images_per_second
    return step - computation - _overhead(run, run.gpus, computation, _NO_CONSTANTS)[1]


def _implied_hidden_share(run: PublishedRun, coordination: float) -> float:
    """Return the share between 0 and 1 with which the row's step comes out; exposed time is linear in it."""
    constants = StepConstants(coordination_seconds=coordination, hidden_share=0.0)
    computation = computation_seconds(run, constants)
    step = run.gpus * run.batch / run.images_per_second
    nothing_hidden = _overhead(run, run.gpus, computation, constants)[1]
    most = StepConstants(coordination_seconds=coordination, hidden_share=1.0)
    hidden = nothing_hidden - exposed_seconds(nothing_hidden, computation, _clusters(run), most)
    needed = computation + coordination + nothing_hidden - step
    return min(1.0, max(0.0, needed / hidden))


@cache
def fitted_constants() -> StepConstants:
    """Return the constants of the rows that the catalog names as fitted."""
    one_node = [run for run in PUBLISHED_RUNS if run.fitted == "coordination"]
    several = [run for run in PUBLISHED_RUNS if run.fitted == "hidden share"]
    return fit(one_node, several)
