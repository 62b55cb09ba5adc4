"""One training step: computation, coordination of the ranks, all-reduce that nothing hides, wait for images."""

from dataclasses import dataclass

from training_workloads.planning.all_reduce import Network, all_reduce_seconds

__all__ = ["BACKWARD_SHARE", "GradientClusters", "StepConstants", "StepTime", "exposed_seconds", "overhead_seconds"]

#: The backward pass has two of the three multiplications of a step: of the loss by the weights and by the inputs
#: (docs/adr/0020 counts the same).
BACKWARD_SHARE = 2 / 3


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientClusters:
    """When a graph's gradients can be sent.

    Attributes:
        count: Clusters with gradients. With 1, all are sent when the backward pass has ended.
        last_bytes: Share of the bytes in the last one, which no computation follows.
    """

    count: int
    last_bytes: float


@dataclass(frozen=True, kw_only=True, slots=True)
class StepConstants:
    """The constants that are fitted; `planning.calibration` has the rows.

    Attributes:
        coordination_seconds: Time that a step loses with several ranks, however much they send: the slowest rank,
            Horovod's negotiation, the copies into its buffer.
        hidden_share: Part of a transfer beside the backward pass that is hidden; the rest of it slows the pass.
    """

    coordination_seconds: float
    hidden_share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTime:
    """The parts of a step in seconds.

    Attributes:
        computation: Step of one GPU alone.
        coordination: Time lost to the other ranks.
        exposed_all_reduce: All-reduce that the backward pass does not hide.
        input_wait: Wait for images, where the CPUs prepare fewer than the GPUs take.
    """

    computation: float
    coordination: float
    exposed_all_reduce: float
    input_wait: float

    @property
    def total(self) -> float:
        """The whole step."""
        return self.computation + self.coordination + self.exposed_all_reduce + self.input_wait


def exposed_seconds(
    all_reduce: float, computation: float, clusters: GradientClusters, constants: StepConstants
) -> float:
    """Return the all-reduce that adds to the step.

    Clusters of equal computation: while all but the first are computed, the bytes of all but the last can be sent.
    """
    if clusters.count == 1:
        return all_reduce
    window = computation * BACKWARD_SHARE * (1 - 1 / clusters.count)
    can_be_hidden = min(all_reduce * (1 - clusters.last_bytes), window)
    return all_reduce - constants.hidden_share * can_be_hidden


def overhead_seconds(
    gradient_bytes: float,
    computation: float,
    network: Network,
    clusters: GradientClusters,
    constants: StepConstants,
    *,
    fusion_buffer_bytes: float,
    staged: bool = False,
) -> tuple[float, float]:
    """Return coordination and exposed all-reduce of a step; one rank has neither."""
    if network.ranks == 1:
        return 0.0, 0.0
    reduction = all_reduce_seconds(gradient_bytes, network, fusion_buffer_bytes=fusion_buffer_bytes, staged=staged)
    return constants.coordination_seconds, exposed_seconds(reduction, computation, clusters, constants)
