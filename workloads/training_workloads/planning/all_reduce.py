"""The time of an all-reduce: what its links must carry, and the latency of its hops.

A ring of n members sends 2(n-1)/n of the message over each link, in 2(n-1) hops; a double binary tree sends as much, in
2 log2(n) hops (NVIDIA's article on NCCL 2.4 has both; known, not read here). NCCL takes the faster one. If a node
has several GPUs, it reduces within itself before the network carries the sum: two nodes then send the message once, as
the pairs of `catalog.all_reduce_curves` do.
"""

import math
from dataclasses import dataclass

__all__ = ["Link", "Network", "all_reduce_seconds", "bus_bandwidth", "ring_seconds", "sent_bytes", "tree_seconds"]

_FLOAT32_BYTES = 4
_FLOAT16_BYTES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """The link on which one member of an all-reduce sends.

    Attributes:
        bytes_per_second: Bandwidth that a large message reaches, in one direction.
        hop_seconds: Latency from one member to the next.
    """

    bytes_per_second: float
    hop_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """The two levels of a cluster.

    Attributes:
        within: One GPU's link to the GPUs of its node.
        between: One node's link to the others, with all its GPUs.
        gpus_per_node: GPUs of each node.
        nodes: Number of nodes.
    """

    within: Link
    between: Link
    gpus_per_node: int
    nodes: int

    @property
    def ranks(self) -> int:
        """GPUs of all nodes."""
        return self.gpus_per_node * self.nodes


def ring_seconds(message_bytes: float, members: int, link: Link) -> float:
    """Return the time of a ring: 2(n-1)/n of the message through each link, and 2(n-1) hops."""
    return _transfer_seconds(message_bytes, members, link) + 2 * (members - 1) * link.hop_seconds


def tree_seconds(message_bytes: float, members: int, link: Link) -> float:
    """Return the time of a double binary tree: the same through each link, and hops up and down the tree."""
    return _transfer_seconds(message_bytes, members, link) + _tree_hops(members) * link.hop_seconds


def all_reduce_seconds(
    message_bytes: float, network: Network, *, fusion_buffer_bytes: float = math.inf, staged: bool = False
) -> float:
    """Return the time of an all-reduce over all GPUs of all nodes.

    Args:
        message_bytes: Size of the gradients as they are sent.
        network: The links.
        fusion_buffer_bytes: Horovod's fusion buffer: larger gradients are sent in several parts, each with its latency.
        staged: Whether the nodes' sums wait for each other, as in Horovod's hierarchical all-reduce. NCCL's chunks
            pass both levels at the same time, so that the slower level decides.
    """
    parts = max(1, math.ceil(message_bytes / fusion_buffer_bytes))
    within = _transfer_seconds(message_bytes, network.gpus_per_node, network.within)
    between = _transfer_seconds(message_bytes, network.nodes, network.between)
    transfer = within + between if staged else max(within, between)
    hops = _hop_seconds(network.gpus_per_node, network.within) + _hop_seconds(network.nodes, network.between)
    return transfer + parts * hops


def bus_bandwidth(message_bytes: float, seconds: float, ranks: int) -> float:
    """Return the bandwidth that nccl-tests call `busbw`: 2(n-1)/n of the message by the time, in bytes per second.

    Its definition: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
    """
    return 2 * (ranks - 1) / ranks * message_bytes / seconds


def sent_bytes(parameters: int, *, float16: bool) -> int:
    """Return the size of a model's gradients as Horovod sends them."""
    return parameters * (_FLOAT16_BYTES if float16 else _FLOAT32_BYTES)


def _transfer_seconds(message_bytes: float, members: int, link: Link) -> float:
    return 2 * (members - 1) / members * message_bytes / link.bytes_per_second


def _tree_hops(members: int) -> int:
    return 2 * math.ceil(math.log2(members))


def _hop_seconds(members: int, link: Link) -> float:
    """Return the latency of the faster algorithm; both send the same."""
    return min(2 * (members - 1), _tree_hops(members)) * link.hop_seconds
