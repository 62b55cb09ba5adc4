import dataclasses
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from aws_cdk import App, Stack, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from tests.constructs.site import properties
from training_cluster.monitoring import cost
from training_cluster.monitoring.cost import (
    CostItem,
    LustreStorage,
    RootVolume,
    TrainingBudget,
    found_cost,
    hourly_cost,
)
from training_workloads import InputError
from training_workloads.catalog import INSTANCE_TYPES, Price
from training_workloads.catalog.prices import (
    EKS_CONTROL_PLANE,
    EKS_EXTENDED_SUPPORT,
    INTERFACE_ENDPOINT,
    LUSTRE,
    NAT_GATEWAY,
    VOLUME,
    VOLUME_IOPS,
    VOLUME_THROUGHPUT,
    MonthlyPrice,
)

NOT_INCLUDED = (
    "discounts of Spot, Savings Plans and Capacity Blocks, EFS (reads and writes, and files that come), "
    "volumes that pods claim, data transfer and what NAT and endpoints process, public addresses, S3, "
    "CloudWatch (metrics, logs, alarms and dashboard), tax"
)


def price(usd_per_hour: float, *, region: str = "us-east-1", checked: date = date(2026, 3, 13)) -> Price:
    return Price(usd_per_hour=usd_per_hour, region=region, source="https://aws.amazon.com", checked=checked)


@pytest.fixture(autouse=True)
def _catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog of three types with prices of this test, which stay when AWS changes its own."""
    row = INSTANCE_TYPES["m5.xlarge"]
    prices: Mapping[str, Price | None] = {
        "gpu.large": price(24.48, checked=date(2026, 1, 15)),
        "small.large": price(0.192),
        "new.large": None,
    }
    rows = {name: dataclasses.replace(row, name=name, price=amount) for name, amount in prices.items()}
    monkeypatch.setattr(cost, "INSTANCE_TYPES", rows)
    monkeypatch.setattr(cost, "EKS_CONTROL_PLANE", price(0.10))
    monkeypatch.setattr(cost, "NAT_GATEWAY", price(0.045))
    monkeypatch.setattr(cost, "INTERFACE_ENDPOINT", price(0.01))
    monkeypatch.setattr(cost, "EKS_EXTENDED_SUPPORT", price(0.60))


def test_a_cluster_whose_every_part_has_a_price() -> None:
    estimate = hourly_cost(nodes={"gpu.large": 2, "small.large": 2}, nat_gateways=1)
    assert estimate.usd_per_hour == 49.489
    assert str(estimate) == (
        "49.49 USD: 2 x gpu.large at 24.48, 2 x small.large at 0.192, 1 x EKS control plane at 0.10, "
        f"1 x NAT gateway at 0.045 (us-east-1, 2026-01-15 to 2026-03-13); not included: {NOT_INCLUDED}"
    )


def test_a_type_without_a_price_leaves_the_sum_of_the_others() -> None:
    estimate = hourly_cost(nodes={"gpu.large": 1, "new.large": 4})
    assert estimate.usd_per_hour == 24.58
    assert estimate.unpriced == ("new.large",)
    assert str(estimate) == (
        "24.58 USD + new.large without a price: 1 x gpu.large at 24.48, 4 x new.large without a price, "
        f"1 x EKS control plane at 0.10 (us-east-1, 2026-01-15 to 2026-03-13); not included: {NOT_INCLUDED}"
    )


def test_a_group_at_zero_without_a_price_costs_nothing() -> None:
    estimate = hourly_cost(nodes={"small.large": 2, "new.large": 0})
    assert (estimate.total, estimate.unpriced) == ("0.48 USD", ())


def test_lustre_costs_by_its_size_and_its_class() -> None:
    systems = (
        LustreStorage(gib=1200, deployment_type="PERSISTENT_2", mbps_per_tib=125),
        LustreStorage(gib=1200, deployment_type="PERSISTENT_2", mbps_per_tib=125),
        LustreStorage(gib=2400, deployment_type="PERSISTENT_2", mbps_per_tib=1000),
    )
    estimate = hourly_cost(nodes={}, lustre=systems)
    # 1200 GB at 0.145 a month of 730 hours, twice.
    assert estimate.usd_per_hour == 0.5767
    assert estimate.total == "0.58 USD + Lustre PERSISTENT_2 of 2400 GiB at 1000 MB/s per TiB without a price"
    assert "2 x Lustre PERSISTENT_2 of 1200 GiB at 125 MB/s per TiB at 0.2384" in str(estimate)


@pytest.mark.parametrize(
    ("volume", "usd"),
    [
        (RootVolume(gib=100), 8.0),
        (RootVolume(gib=100, iops=4000), 13.0),
        (RootVolume(gib=200, iops=3000, mib_per_second=600), 35.0),
    ],
)
def test_a_volume_costs_by_its_size_and_what_is_above_the_free_speed(volume: RootVolume, usd: float) -> None:
    estimate = hourly_cost(nodes={}, root_volumes={volume: 730})
    assert estimate.usd_per_hour == pytest.approx(0.1 + usd)


def test_efs_costs_by_what_it_holds() -> None:
    assert hourly_cost(nodes={}, efs_gib=730.0).usd_per_hour == pytest.approx(0.4)
    assert hourly_cost(nodes={}, efs_gib=0.0).usd_per_hour == 0.1


def test_what_is_found_may_be_of_a_type_that_the_catalog_lacks() -> None:
    estimate = found_cost(nodes={"small.large": 1, "x9.huge": 2}, nat_gateways=1)
    assert estimate.total == "0.34 USD + x9.huge without a price"


def test_interface_endpoints_are_paid_by_zone() -> None:
    estimate = hourly_cost(nodes={}, interface_endpoints=22)
    assert estimate.usd_per_hour == 0.32
    assert "22 x interface endpoint in a zone at 0.01" in str(estimate)


def test_a_release_has_a_day_from_which_it_costs_more() -> None:
    estimate = hourly_cost(nodes={}, kubernetes_version="1.34")
    assert estimate.usd_per_hour == 0.1
    assert "; 0.50 USD more from 2026-12-02 on, when Kubernetes 1.34 is in extended support; not" in str(estimate)
    # The day of the newest release is derived, not read.
    assert "from about 2027-12-01 on" in str(hourly_cost(nodes={}, kubernetes_version="1.37"))
    assert hourly_cost(nodes={}, kubernetes_version="1.38").extended_support is None
    with pytest.raises(InputError, match=r"^'kubernetes_version' is '1\.20'; give the release of the cluster"):
        hourly_cost(nodes={}, kubernetes_version="1.20")


@pytest.mark.parametrize(
    ("day", "price"),
    [
        (date(2026, 12, 1), "0.10 USD: 1 x EKS control plane at 0.10"),
        (date(2026, 12, 2), "0.60 USD: 1 x EKS control plane in extended support at 0.60"),
    ],
)
def test_a_cluster_that_runs_costs_extended_support_from_its_first_day(day: date, price: str) -> None:
    estimate = hourly_cost(nodes={}, kubernetes_version="1.34", today=day)
    assert str(estimate).startswith(price)
    # What it costs already is not announced.
    assert (" more from " in str(estimate)) is (day < date(2026, 12, 2))


def test_a_group_scaled_to_zero_shows_its_price() -> None:
    estimate = hourly_cost(nodes={"gpu.large": 0})
    assert estimate.usd_per_hour == 0.1
    assert str(estimate).startswith("0.10 USD: 0 x gpu.large at 24.48, 1 x EKS control plane at 0.10 (")


def test_a_type_can_be_one_of_the_cdk() -> None:
    by_type = hourly_cost(nodes={ec2.InstanceType("gpu.large"): 2})
    assert by_type == hourly_cost(nodes={"gpu.large": 2})


def test_no_nodes_cost_a_control_plane() -> None:
    assert str(hourly_cost(nodes={})).startswith("0.10 USD: 1 x EKS control plane at 0.10 (us-east-1, 2026-03-13); ")


def test_prices_of_two_regions_are_named() -> None:
    items = tuple(
        CostItem(count=1, name=region, price=price(1.0, region=region)) for region in ("us-west-2", "us-east-1")
    )
    assert "(us-east-1, us-west-2, 2026-03-13)" in str(cost.CostEstimate(items=items))


def test_no_item_has_a_price() -> None:
    estimate = cost.CostEstimate(items=(CostItem(count=1, name="x", price=None),))
    assert str(estimate).startswith("0.00 USD + x without a price: 1 x x without a price; not")


@pytest.mark.parametrize(
    ("nodes", "nat_gateways", "message"),
    [
        (
            {"gpu.larg": 1},
            0,
            "'nodes' is 'gpu.larg', but it is not known; did you mean gpu.large? "
            "known: gpu.large, new.large, small.large",
        ),
        ({"gpu.large": -1}, 0, "'nodes.gpu.large' is -1; give 0 or more"),
        ({"gpu.large": 1.5}, 0, "'nodes.gpu.large' is 1.5; give a whole number, 0 or more"),
        ({}, -1, "'nat_gateways' is -1; give 0 or more"),
        (["gpu.large"], 0, "'nodes' is ['gpu.large']; give a dict with the number of nodes of each EC2 type"),
    ],
)
def test_rejects_unknown_types_and_wrong_numbers(nodes: Any, nat_gateways: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        hourly_cost(nodes=nodes, nat_gateways=nat_gateways)
    assert str(caught.value) == message


@pytest.mark.parametrize("volumes", [{"100": 2}, [RootVolume(gib=100)]])
def test_rejects_other_volumes(volumes: Any) -> None:
    message = r"^'root_volumes' is .*; give a dict with the number of nodes of each RootVolume$"
    with pytest.raises(InputError, match=message):
        hourly_cost(nodes={}, root_volumes=volumes)


def test_rejects_a_negative_number_of_volumes() -> None:
    with pytest.raises(InputError, match=r"3000 IOPS and 125 MiB/s' is -1; give 0 or more$"):
        hourly_cost(nodes={}, root_volumes={RootVolume(gib=100): -1})


@pytest.mark.parametrize("service", [EKS_CONTROL_PLANE, EKS_EXTENDED_SUPPORT, INTERFACE_ENDPOINT, NAT_GATEWAY])
def test_service_prices_have_a_source_and_a_day(service: Price) -> None:
    assert service.usd_per_hour > 0
    assert service.source.startswith("https://")
    assert date(2026, 1, 1) <= service.checked <= date.today()


@pytest.mark.parametrize("price", [*LUSTRE.values(), VOLUME, VOLUME_IOPS, VOLUME_THROUGHPUT])
def test_monthly_prices_have_a_source_and_a_day(price: MonthlyPrice) -> None:
    assert price.usd > 0
    assert price.source.startswith("https://")
    assert date(2026, 1, 1) <= price.checked <= date.today()


def test_the_prices_of_the_catalog_are_plausible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    estimate = hourly_cost(nodes={"p4d.24xlarge": 1, "m5.xlarge": 2}, nat_gateways=1)
    assert 10 < estimate.usd_per_hour < 50


def budget(*, monthly_usd: Any = 2000, email: str = "team@example.com") -> dict[str, Any]:
    stack = Stack(App(), "Money")
    TrainingBudget(stack, "Budget", monthly_usd=monthly_usd, email=email)
    (made,) = properties(Template.from_stack(stack), "AWS::Budgets::Budget")
    return made


def test_a_monthly_budget_of_the_account() -> None:
    assert budget()["Budget"] == {
        "BudgetType": "COST",
        "TimeUnit": "MONTHLY",
        "BudgetLimit": {"Amount": 2000, "Unit": "USD"},
    }


def test_mails_at_80_percent_spent_and_100_percent_forecast() -> None:
    notifications = budget()["NotificationsWithSubscribers"]
    assert [notice["Notification"] for notice in notifications] == [
        {
            "NotificationType": kind,
            "ComparisonOperator": "GREATER_THAN",
            "Threshold": percent,
            "ThresholdType": "PERCENTAGE",
        }
        for kind, percent in (("ACTUAL", 80), ("FORECASTED", 100))
    ]
    subscriber = {"SubscriptionType": "EMAIL", "Address": "team@example.com"}
    assert [notice["Subscribers"] for notice in notifications] == [[subscriber], [subscriber]]


def test_allows_a_token_as_amount() -> None:
    assert budget(monthly_usd=Token.as_number({"Ref": "Usd"}))["Budget"]["BudgetLimit"]["Amount"] == {"Ref": "Usd"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monthly_usd": 0}, "'monthly_usd' is 0; give 1 or more"),
        ({"monthly_usd": 99.5}, "'monthly_usd' is 99.5; give a whole number, 1 or more"),
        ({"email": "team"}, "'email' is 'team'; give one email address, such as team@example.com"),
    ],
)
def test_rejects_amounts_and_addresses(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        budget(**options)
    assert str(caught.value) == message
