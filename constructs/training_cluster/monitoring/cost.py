"""What a cluster costs by the hour, where the catalog has a dated price for every part of the sum."""

from collections.abc import Mapping
from dataclasses import dataclass

from training_workloads.catalog import INSTANCE_TYPES, Price
from training_workloads.catalog.prices import EKS_CONTROL_PLANE, NAT_GATEWAY
from training_workloads.validation import check_at_least, unknown_name

__all__ = ["CostEstimate", "CostItem", "hourly_cost"]

# Paid by use, by contract, or without a dated price in the catalog.
_NOT_INCLUDED = (
    "discounts of Spot, Savings Plans and Capacity Blocks",
    "FSx for Lustre",
    "EFS",
    "EBS volumes",
    "data transfer",
    "S3",
    "CloudWatch",
    "tax",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CostItem:
    """A number of equal things.

    Attributes:
        count: How many.
        name: What it is.
        price: Of one; None where the catalog has none.
    """

    count: int
    name: str
    price: Price | None

    def __str__(self) -> str:
        amount = "a price that is not in the catalog" if self.price is None else _dollars(self.price.usd_per_hour)
        return f"{self.count} x {self.name} at {amount}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CostEstimate:
    """What a cluster costs by the hour, as a sum or as the reason why there is none; `str()` makes a sentence of it.

    Attributes:
        items: What was counted.
    """

    items: tuple[CostItem, ...]

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Names of the items without a price."""
        return tuple(item.name for item in self.items if item.price is None)

    @property
    def usd_per_hour(self) -> float | None:
        """Dollars per hour at On-Demand prices without tax; None where an item has no price."""
        prices = [item.count * item.price.usd_per_hour for item in self.items if item.price]
        return round(sum(prices), 4) if len(prices) == len(self.items) else None

    @property
    def total(self) -> str:
        """The sum in words."""
        if self.usd_per_hour is None:
            return f"unknown, without a price of {', '.join(self.unpriced)}"
        return f"{self.usd_per_hour:.2f} USD"

    def __str__(self) -> str:
        items = ", ".join(map(str, self.items))
        return f"{self.total}: {items}{self._origin()}; not included: {', '.join(_NOT_INCLUDED)}"

    def _origin(self) -> str:
        prices = [item.price for item in self.items if item.price]
        if not prices:
            return ""
        first, last = (choose(price.checked for price in prices) for choose in (min, max))
        days = str(first) if first == last else f"{first} to {last}"
        return f" ({', '.join(sorted({price.region for price in prices}))}, {days})"


def hourly_cost(*, nodes: Mapping[str, int], nat_gateways: int = 0) -> CostEstimate:
    """Adds up the nodes, the EKS control plane and the NAT gateways.

    Args:
        nodes: How many nodes of each EC2 type, system nodes included. A group that is at 0 is shown with its price.
        nat_gateways: How many there are. Default: 0.

    Raises:
        InputError: The catalog does not know a type, or a number is not a whole number of 0 or more.
    """
    check_at_least("nat_gateways", nat_gateways, 0)
    items = []
    for name, count in nodes.items():
        if name not in INSTANCE_TYPES:
            raise unknown_name("nodes", name, INSTANCE_TYPES)
        check_at_least(f"nodes.{name}", count, 0)
        items.append(CostItem(count=count, name=name, price=INSTANCE_TYPES[name].price))
    items.append(CostItem(count=1, name="EKS control plane", price=EKS_CONTROL_PLANE))
    if nat_gateways:
        items.append(CostItem(count=nat_gateways, name="NAT gateway", price=NAT_GATEWAY))
    return CostEstimate(items=tuple(items))


def _dollars(amount: float) -> str:
    """Two decimals, or as many as the price has."""
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:g}"
