"""The cost of a cluster by the hour, from the dated prices of the catalog, and a monthly budget."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Any

from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from training_cluster.checks import KnownChecked, RunningVersion
from training_cluster.monitoring.alarms import Email
from training_workloads.catalog import INSTANCE_TYPES, Price
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.prices import (
    EKS_CONTROL_PLANE,
    EKS_EXTENDED_SUPPORT,
    ELASTIC_FILES,
    INTERFACE_ENDPOINT,
    NAT_GATEWAY,
)
from training_workloads.catalog.provisioned_storage import LustreStorage, RootVolume
from training_workloads.keywords import checked
from training_workloads.spec import Checked
from training_workloads.validation import Problem, Problems, at_least, unknown

__all__ = ["CostEstimate", "CostItem", "LustreStorage", "RootVolume", "TrainingBudget", "found_cost", "hourly_cost"]

# Percent of the budget. https://docs.aws.amazon.com/cost-management/latest/userguide/budgets-best-practices.html
_NOTIFICATIONS = (("ACTUAL", 80), ("FORECASTED", 100))

# Paid by use, by contract, or without a dated price in the catalog.
_NOT_INCLUDED = (
    "discounts of Spot, Savings Plans and Capacity Blocks",
    "EFS (reads and writes, and files that come)",
    "volumes that pods claim",
    "data transfer and what NAT and endpoints process",
    "public addresses",
    "S3",
    "CloudWatch (metrics, logs, alarms and dashboard)",
    "tax",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CostItem:
    """A number of equal things.

    Attributes:
        count: Number of them.
        name: The part, such as an instance type.
        price: Price of one; None where the catalog has none.
    """

    count: int
    name: str
    price: Price | None

    def __str__(self) -> str:
        amount = "without a price" if self.price is None else f"at {_dollars(self.price.usd_per_hour)}"
        return f"{self.count} x {self.name} {amount}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CostEstimate:
    """The cost of a cluster by the hour; `str()` is a sentence.

    Attributes:
        items: The parts.
        kubernetes_version: Release of the cluster; None if it was not given.
    """

    items: tuple[CostItem, ...]
    kubernetes_version: str | None = None

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Names of the items that cost something and have no price in the catalog."""
        return tuple(item.name for item in self.items if item.price is None and item.count)

    @property
    def usd_per_hour(self) -> float:
        """Dollars per hour at On-Demand prices without tax, of the items with a price; see `unpriced`."""
        return round(sum(item.count * item.price.usd_per_hour for item in self.items if item.price), 4)

    @property
    def total(self) -> str:
        """The sum in words, with the items that it omits."""
        return " + ".join([f"{self.usd_per_hour:.2f} USD", *(f"{name} without a price" for name in self.unpriced)])

    @property
    def extended_support(self) -> str | None:
        """The additional cost of the release, and from which day on; None where the release or its dates are not known.

        The sentence has the day and does not depend on today: an estimate in a template must not change by itself.
        """
        release = KUBERNETES_RELEASES.get(self.kubernetes_version or "")
        if release is None:
            return None
        more = EKS_EXTENDED_SUPPORT.usd_per_hour - EKS_CONTROL_PLANE.usd_per_hour
        derived = "about " if "standard_support_ends" in release.unknown else ""
        return (
            f"{more:.2f} USD more from {derived}{release.standard_support_ends} on, when Kubernetes {release.name} "
            "is in extended support"
        )

    def __str__(self) -> str:
        items = ", ".join(map(str, self.items))
        later = f"; {self.extended_support}" if self.extended_support else ""
        return f"{self.total}: {items}{self._origin()}{later}; not included: {', '.join(_NOT_INCLUDED)}"

    def _origin(self) -> str:
        prices = [item.price for item in self.items if item.price]
        if not prices:
            return ""
        first, last = (choose(price.checked for price in prices) for choose in (min, max))
        days = str(first) if first == last else f"{first} to {last}"
        return f" ({', '.join(sorted({price.region for price in prices}))}, {days})"


def _type_name(instance_type: str | ec2.InstanceType) -> str:
    return instance_type.to_string() if isinstance(instance_type, ec2.InstanceType) else instance_type


def _counts(name: str, nodes: Any) -> Problems:
    if not isinstance(nodes, Mapping):
        yield Problem(path=(name,), given=nodes, fix="give a dict with the number of nodes of each EC2 type")
        return
    for kind, count in nodes.items():
        instance_type = _type_name(kind)
        yield from unknown(name, instance_type, INSTANCE_TYPES)
        for problem in at_least(instance_type, count, 0):
            yield problem.under(name)


def _volume_counts(name: str, volumes: Any) -> Problems:
    if not isinstance(volumes, Mapping) or not all(isinstance(volume, RootVolume) for volume in volumes):
        yield Problem(path=(name,), given=volumes, fix="give a dict with the number of nodes of each RootVolume")
        return
    for volume, count in volumes.items():
        for problem in at_least(str(volume), count, 0):
            yield problem.under(name)


@checked
def hourly_cost(
    *,
    nodes: Annotated[Mapping[str, int] | Mapping[ec2.InstanceType, int], Checked(_counts)],
    root_volumes: Annotated[Mapping[RootVolume, int], Checked(_volume_counts)] | None = None,
    lustre: tuple[LustreStorage, ...] = (),
    efs_gib: float | None = None,
    nat_gateways: Annotated[int, Checked(at_least, 0)] = 0,
    interface_endpoints: Annotated[int, Checked(at_least, 0)] = 0,
    kubernetes_version: RunningVersion | None = None,
    today: date | None = None,
) -> CostEstimate:
    """Return the cost of everything in a cluster that costs by the hour, whether it is used or not.

    Args:
        nodes: Number of nodes of each EC2 type, system nodes included. A group at 0 is shown with its price.
        root_volumes: Number of volumes of each size and speed, one for each node. Default: none.
        lustre: The file systems of FSx for Lustre. Default: none.
        efs_gib: What EFS holds, in GiB. Default: there is no EFS, or nothing in it.
        nat_gateways: Number of NAT gateways. Default: 0.
        interface_endpoints: Interface endpoints times zones, as AWS bills them: 11 in two zones are 22. Default: 0.
        kubernetes_version: Release of the cluster, to state the cost of extended support and its first day. Default:
            not stated.
        today: Day of the price, for a cluster that runs: its release may be in extended support. Default: the price of
            standard support, whatever the day.

    Raises:
        InputError: `nodes` or `root_volumes` is no dict, the catalog does not know a type, a number is not a whole
            number of 0 or more, or EKS runs no such release.
    """
    items = [
        CostItem(count=count, name=name, price=INSTANCE_TYPES[name].price)
        for name, count in ((_type_name(kind), count) for kind, count in nodes.items())
    ]
    items += [CostItem(count=count, name=str(each), price=each.price) for each, count in (root_volumes or {}).items()]
    items += [CostItem(count=count, name=str(each), price=each.price) for each, count in Counter(lustre).items()]
    if efs_gib:
        items.append(CostItem(count=1, name=f"EFS of {efs_gib:.1f} GiB", price=ELASTIC_FILES.by_the_hour(efs_gib)))
    release = KUBERNETES_RELEASES.get(kubernetes_version or "")
    if today and release and today >= release.standard_support_ends:
        items.append(CostItem(count=1, name="EKS control plane in extended support", price=EKS_EXTENDED_SUPPORT))
        kubernetes_version = None
    else:
        items.append(CostItem(count=1, name="EKS control plane", price=EKS_CONTROL_PLANE))
    if nat_gateways:
        items.append(CostItem(count=nat_gateways, name="NAT gateway", price=NAT_GATEWAY))
    if interface_endpoints:
        items.append(CostItem(count=interface_endpoints, name="interface endpoint in a zone", price=INTERFACE_ENDPOINT))
    return CostEstimate(items=tuple(items), kubernetes_version=kubernetes_version)


def found_cost(*, nodes: Mapping[str, int], **parts: Any) -> CostEstimate:
    """Return the cost of a cluster as an account or a template has it, with nodes of any type.

    Args:
        nodes: Number of nodes of each EC2 type; one that the catalog does not have is without a price.
        parts: The other keywords of `hourly_cost`.
    """
    estimate = hourly_cost(nodes={name: count for name, count in nodes.items() if name in INSTANCE_TYPES}, **parts)
    others = ((name, count) for name, count in nodes.items() if name not in INSTANCE_TYPES)
    unpriced = (CostItem(count=count, name=name, price=None) for name, count in others)
    return replace(estimate, items=(*estimate.items, *unpriced))


def _dollars(amount: float) -> str:
    """Return two decimals, or as many as the price has, up to four."""
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{round(amount, 4):g}"


class TrainingBudget(Construct):
    """A budget for everything in the account, with mails at 80 % spent and at 100 % forecast.

    It warns and stops nothing. It covers the account and not the cluster: costs can be separated only by a tag that is
    activated for billing first, and until then a budget of that tag would silently stay at 0
    (https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/activating-tags.html).

    Attributes:
        budget: The budget, with a name that CloudFormation generates.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        monthly_usd: Annotated[int, KnownChecked(at_least, 1)],
        email: Email,
    ) -> None:
        """Define the budget.

        Args:
            scope: A stack that outlives the clusters, or a construct in one.
            monthly_usd: Dollars per calendar month.
            email: Address that gets the mails.

        Raises:
            InputError: `monthly_usd` is not a whole number of 1 or more, or `email` is not one email address.
        """
        super().__init__(scope, id)
        budget = budgets.CfnBudget
        self.budget = budget(
            self,
            "Resource",
            budget=budget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=budget.SpendProperty(amount=monthly_usd, unit="USD"),
            ),
            notifications_with_subscribers=[_notification(kind, percent, email) for kind, percent in _NOTIFICATIONS],
        )


def _notification(kind: str, percent: int, email: str) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    budget = budgets.CfnBudget
    return budget.NotificationWithSubscribersProperty(
        notification=budget.NotificationProperty(
            notification_type=kind,
            comparison_operator="GREATER_THAN",
            threshold=percent,
            threshold_type="PERCENTAGE",
        ),
        subscribers=[budget.SubscriberProperty(subscription_type="EMAIL", address=email)],
    )
