"""What the rows of all families share, so that a family's module contains its numbers only."""

from datetime import date

from training_workloads.catalog.gpus import Gpu
from training_workloads.catalog.instance_type import BusBandwidth, InstanceType, Retirement, ena_and_efa_only
from training_workloads.catalog.prices import Price

__all__ = ["CHECKED", "TYPES", "row", "us_east_1"]

CHECKED = date(2026, 11, 21)
_KARPENTER = "https://github.com/aws/karpenter-provider-aws/blob/"
#: Generated from DescribeInstanceTypes.
TYPES = f"{_KARPENTER}0c5e7d8112409aff07b0f17a0f51c87bdba52ed1/website/content/en/docs/reference/instance-types.md"
#: Generated from AWS's price list, on the date in its first lines.
_PRICES = f"{_KARPENTER}265ee0ba5b8e337dec6b82dde965b03021ccb418/pkg/providers/pricing/zz_generated.pricing_aws.go"
_NO_RESULT = "neither AWS nor NVIDIA publishes a result with its message size"
_NO_PRICE = "AWS's price list for us-east-1 had no On-Demand price on 2026-02-09; it is sold in Capacity Blocks"
_NO_PROCESSOR = "AWS publishes no number of sockets, and the model of the processor was not read"
_NO_EFA = range(0)


def us_east_1(usd_per_hour: float) -> Price:
    """Return a price of the list from which the catalog was filled."""
    return Price(usd_per_hour=usd_per_hour, region="us-east-1", source=_PRICES, checked=date(2026, 2, 9))


def row(
    name: str,
    *,
    gpu: Gpu | None,
    gpus: int,
    vcpus: int,
    sockets: int | None,
    memory_gib: int,
    network_gbps: float,
    network_bursts: bool = False,
    efa_cards: range = _NO_EFA,
    local_nvme_gb: int = 0,
    local_nvme_disks: int = 0,
    capacity_block: bool = False,
    all_reduce_bandwidth: BusBandwidth | None = None,
    price: Price | None = None,
    no_price: str = _NO_PRICE,
    threads_per_core: int = 2,
    source: str = TYPES,
    retired: Retirement | None = None,
) -> InstanceType:
    """Return a row with the network interfaces for `efa_cards` and a reason for each missing number.

    EC2 launches all of them in cluster placement groups
    (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/placement-strategies.html).
    """
    reasons = {
        "all_reduce_bandwidth": (all_reduce_bandwidth, _NO_RESULT),
        "price": (price, no_price),
        "sockets": (sockets, _NO_PROCESSOR),
    }
    return InstanceType(
        name=name,
        gpu=gpu,
        gpus=gpus,
        vcpus=vcpus,
        cores=vcpus // threads_per_core,
        sockets=sockets,
        memory_gib=memory_gib,
        network_gbps=network_gbps,
        network_bursts=network_bursts,
        network_interfaces=ena_and_efa_only(efa_cards),
        local_nvme_gb=local_nvme_gb,
        local_nvme_disks=local_nvme_disks,
        placement_group=True,
        capacity_block=capacity_block,
        all_reduce_bandwidth=all_reduce_bandwidth,
        price=price,
        source=source,
        checked=CHECKED,
        unknown={field: reason for field, (value, reason) in reasons.items() if value is None},
        retired=retired,
    )
