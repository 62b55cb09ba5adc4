"""`offers`: the types with GPUs of the catalog."""

import json

from tests.workloads.cli.conftest import Command
from training_workloads.catalog.instances import INSTANCE_TYPES


def test_a_row_has_size_price_and_regions(command: Command) -> None:
    code, output, errors = command("offers", "p4d.24xlarge")
    heading, row, prices = output.splitlines()
    assert (code, errors) == (0, "")
    assert heading.split() == "type GPUs GPU GiB/GPU EFA Gb/s vCPUs GiB $/h $/h/GPU regions".split()
    assert row.split()[:2] == ["p4d.24xlarge", "8"]
    usd = INSTANCE_TYPES["p4d.24xlarge"].price
    assert usd is not None
    assert f" {usd.usd_per_hour:.2f}  {usd.usd_per_hour / 8:.2f}" in row
    assert " more" in row
    assert prices.startswith("prices: On-Demand, Linux, us-east-1, 2026-02-09, without tax")


def test_every_type_with_gpus_that_exists_is_listed(command: Command) -> None:
    listed = {each["type"] for each in json.loads(command("offers", "--json").out)}
    assert listed == {each.name for each in INSTANCE_TYPES.values() if each.gpus and not each.retired}


def test_a_family_and_a_region(command: Command) -> None:
    listed = json.loads(command("offers", "p5", "--region", "us-east-1", "--json").out)
    assert listed
    assert all(each["type"].startswith("p5.") and "us-east-1" in each["regions"] for each in listed)


def test_an_unknown_type_or_region_is_answered(command: Command) -> None:
    assert "did you mean p4d.24xlarge" in command("offers", "p4d.24xlage").err
    wrong_region = command("offers", "p5", "--region=us-esat-1").err
    assert "'--region' is 'us-esat-1', but none of the types is there; did you mean us-west-1 or " in wrong_region
