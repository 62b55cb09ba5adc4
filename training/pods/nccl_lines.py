"""The parser of NCCL's lines about its network, which it prints with NCCL_DEBUG=INFO.

The EFA plugin (https://github.com/aws/aws-ofi-nccl) adds the libfabric provider and the number of EFA interfaces.
"""

import re
from dataclasses import dataclass, field

#: The mark of each of these lines.
MARK = "NCCL "

# Only from the start of a word: from each of its characters, a long word would take quadratic time.
_NCCL = re.compile(r"(?<![^\s:\[\]])([^\s:\[\]]+):(\d+):\d+ \[\d+\] NCCL INFO (.*)")
# Where NCCL_NET names a network that no plugin has (`ncclNetInit` in https://github.com/NVIDIA/nccl, src/net.cc).
_MISSING = re.compile(r"NCCL WARN Error: network (.+) not found")
_NETWORK = re.compile(r"^Using network (.+)")
# "Selected Provider is efa", "… (found 4 nics)", "Selected provider is efa, fabric is efa-direct (found 16 nics)".
_PROVIDER = re.compile(r"^NET/OFI Selected provider is ([^\s,]+)(?:.*\(found (\d+) nics\))?", re.IGNORECASE)


@dataclass(slots=True)
class Network:
    """The network of one node, as NCCL reports it."""

    names: set[str] = field(default_factory=set)
    """The selected networks, in NCCL's words: "AWS Libfabric", "Libfabric", "Socket", "IB"."""
    providers: set[str] = field(default_factory=set)
    """The libfabric providers that the EFA plugin selected."""
    interfaces: int | None = None
    """The interfaces that the plugin found, the fewest of all ranks; None if it does not print them."""
    processes: set[str] = field(default_factory=set)
    """The PIDs of the ranks that printed their network."""

    @property
    def is_efa(self) -> bool:
        """Return whether the plugin selected EFA and NCCL used the plugin."""
        return self.providers == {"efa"} and all("libfabric" in name.lower() for name in self.names)

    def __str__(self) -> str:
        if self.is_efa:
            return "EFA" if self.interfaces is None else f"EFA with {self.interfaces} interfaces"
        names = sorted(self.names | {f"libfabric provider {name}" for name in self.providers})
        return " and ".join(names) or "unknown"


@dataclass(slots=True)
class NcclLines:
    """NCCL's lines so far.

    Attributes:
        networks: The network of each node that has printed a line.
        missing: The network that a rank needs and does not find, so that it ends; None where there is none.
    """

    networks: dict[str, Network] = field(default_factory=dict)
    missing: str | None = None

    def read(self, line: str) -> None:
        """Parse one line, which may have mpirun's tag; ignore lines that are not NCCL's."""
        if missing := _MISSING.search(line):
            self.missing = missing[1]
        found = _NCCL.search(line)
        if found is None:
            return
        network = self.networks.setdefault(found[1], Network())
        if name := _NETWORK.match(found[3]):
            network.names.add(name[1].rstrip())
            network.processes.add(found[2])
        elif provider := _PROVIDER.match(found[3]):
            network.providers.add(provider[1].lower())
            if provider[2]:
                network.interfaces = min(int(provider[2]), network.interfaces or int(provider[2]))
