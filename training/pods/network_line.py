"""The line that names the network of the gradients between the nodes, from the first lines of the ranks."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from training.pods.nccl_lines import MARK, NcclLines, Network

#: How the line begins; `trainctl status` looks for it in the launcher's log.
NETWORK_LINE = "network: "

_ALTHOUGH = ", although EFA was requested"

# NCCL's own names: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net
_NAMES = {"Socket": "tcp (Socket)", "IB": "InfiniBand or RoCE (IB)"}

# Ranks of a job print their lines at the same time, unless one of them does not print at all.
_OTHERS_SECONDS = 10.0

# No line of NCCL is longer; more without a line break is not kept.
_LONGEST = 4096


@dataclass(slots=True)
class NetworkWatch:
    """Finds the network in the ranks' output, which is parsed until the network is known.

    Attributes:
        nodes: Workers of the job.
        ranks: Ranks of the job.
        efa: EFA devices that each worker has requested; 0 where none is.
        line: The line to print; None as long as the network is not known.
        not_efa: Whether the job has requested EFA, and something else carries the gradients.
    """

    nodes: int
    ranks: int
    efa: int
    clock: Callable[[], float] = time.monotonic
    line: str | None = field(default=None, init=False)
    not_efa: bool = field(default=False, init=False)
    _nccl: NcclLines = field(default_factory=NcclLines, init=False)
    _rest: bytes = field(default=b"", init=False)
    _last: float | None = field(default=None, init=False)

    def read(self, chunk: bytes) -> None:
        """Parse a part of the output."""
        if self.line is not None:
            return
        lines, _, rest = (self._rest + chunk).rpartition(b"\n")
        self._rest = rest[-_LONGEST:]
        mark = MARK.encode()
        if mark in lines:
            self._last = self.clock()
            for line in lines.split(b"\n"):
                if mark in line:
                    self._nccl.read(line.decode(errors="replace"))
        self.decide()

    def decide(self, *, ended: bool = False) -> None:
        """Set the line if all ranks have printed their network, or if no other line came for some seconds.

        Args:
            ended: Whether no more output comes.
        """
        if self.line is None:
            self.line, self.not_efa = self._known(ended)

    def _known(self, ended: bool) -> tuple[str | None, bool]:
        """Return the line, and whether something else than the requested EFA carries the gradients."""
        if self._nccl.missing and self.efa:
            return f"{NETWORK_LINE}none, NCCL has no network {self._nccl.missing}{_ALTHOUGH}", True
        found = {node: network for node, network in self._nccl.networks.items() if network.names}
        if not found or not (ended or self._have_printed(found)):
            return None, False
        if self.nodes <= 1:
            return NETWORK_LINE + _one_node(found), False
        not_efa = bool(self.efa) and any(_is_other(network) for network in found.values())
        return NETWORK_LINE + "; ".join(_parts(found, self.nodes, self.efa)) + _ALTHOUGH * not_efa, not_efa

    def _have_printed(self, found: dict[str, Network]) -> bool:
        """Return whether all ranks have printed their network, or no other line came for some seconds."""
        printed = sum(len(network.processes) for network in found.values())
        return printed >= self.ranks or (self._last is not None and self.clock() - self._last >= _OTHERS_SECONDS)


def _is_other(network: Network) -> bool:
    """Return whether something other than EFA is proven; a plugin that does not print its provider proves nothing."""
    return any("libfabric" not in name.lower() for name in network.names) or bool(network.providers - {"efa"})


def _parts(found: dict[str, Network], nodes: int, efa: int) -> Iterator[str]:
    """Yield each kind of network with its nodes."""
    alike: dict[str, list[Network]] = {}
    for network in found.values():
        alike.setdefault(_name(network), []).append(network)
    for name, networks in alike.items():
        yield f"{name}{_devices(networks, efa) if name == 'efa' else ''} on {len(networks)}/{nodes} nodes"


def _name(network: Network) -> str:
    if network.is_efa:
        return "efa"
    names = [_NAMES.get(name, name) for name in sorted(network.names)]
    return " and ".join([*names, *(f"libfabric provider {provider}" for provider in sorted(network.providers))])


def _devices(networks: list[Network], efa: int) -> str:
    """Return the devices of the node with the fewest, of those that it requests."""
    counts = [network.interfaces for network in networks if network.interfaces is not None]
    if not counts:
        return ""
    return f", {min(counts)}{f'/{efa}' if efa else ''} devices"


def _one_node(found: dict[str, Network]) -> str:
    names = sorted({_name(network) for network in found.values()})
    return f"none, one node: NVLink, PCIe or shared memory carry the gradients (NCCL names {' and '.join(names)})"
