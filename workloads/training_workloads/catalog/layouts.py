"""Which network interfaces a node's launch template asks for.

The layout follows the recommendation of
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html (read 2026-11-21); docs/adr/0003 says why.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = ["NetworkInterface", "ena_and_efa_only"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkInterface:
    """One network interface that a launch template must ask for to use the whole network of a type.

    Attributes:
        network_card: Index of the physical card.
        device: Device index on that card; the instance's primary interface is card 0, device 0.
        kind: `interface` is a plain ENA interface, `efa` an ENA with an EFA device, `efa-only` an EFA device
            without an IP address. `efa-only` cannot be the primary interface
            (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html).
    """

    network_card: int
    device: int
    kind: Literal["interface", "efa", "efa-only"]


def ena_and_efa_only(efa_cards: range) -> tuple[NetworkInterface, ...]:
    """One address on a plain ENA interface of card 0, and one EFA device without an address on each EFA card.

    Args:
        efa_cards: The cards that carry EFA; empty for a type without EFA. On card 0 the EFA device takes device
            index 1, beside the primary interface; on every other card it is the first device.
    """
    primary = NetworkInterface(network_card=0, device=0, kind="interface")
    efa = (NetworkInterface(network_card=card, device=int(card == 0), kind="efa-only") for card in efa_cards)
    return (primary, *efa)
