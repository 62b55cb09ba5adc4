"""The command `offers`: the types with GPUs, what they have and cost, and where EC2 offers them."""

from collections.abc import Iterator
from typing import Any

import click

from training_workloads.catalog.instance_type import InstanceType
from training_workloads.catalog.instances import INSTANCE_TYPES
from training_workloads.catalog.offers import offered_regions
from training_workloads.cli.cluster_output import print_json
from training_workloads.cli.commands import Command
from training_workloads.cli.parameters import json_option
from training_workloads.terminal import say
from training_workloads.validation import InputError, Problem, known_names

__all__ = ["offers"]

_HEADINGS = ("type", "GPUs", "GPU", "GiB/GPU", "EFA", "Gb/s", "vCPUs", "GiB", "$/h", "$/h/GPU", "regions")

# More hide the other columns; the JSON has all.
_FEW_REGIONS = 3


@click.command(cls=Command)
@click.argument("types", metavar="[TYPE]...", nargs=-1, help="A type, or a family such as p5. Default: all with GPUs.")
@click.option("--region", help="Show only the types that EC2 offers in this region.")
@json_option
def offers(types: tuple[str, ...], region: str | None, as_json: bool) -> None:
    """Show the instance types with GPUs: their size, EFA, On-Demand price and regions, by the catalog."""
    found = [each for each in _chosen(types) if region is None or region in offered_regions(each.name)]
    if not found:
        regions = sorted({name for each in _chosen(types) for name in offered_regions(each.name)})
        fix = known_names(str(region), regions) if regions else "choose another type"
        raise InputError(Problem(path=("region",), given=region, allowed="none of the types is there", fix=fix))
    if as_json:
        print_json([_values(each) for each in found])
        return
    _print_table(found, region)


def _print_table(found: list[InstanceType], region: str | None) -> None:
    rows = [_HEADINGS, *(_row(each, region) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        say("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
    priced = next((each.price for each in found if each.price), None)
    if priced:
        say(f"prices: On-Demand, Linux, {priced.region}, {priced.checked}, without tax; -: only in Capacity Blocks")


def _chosen(types: tuple[str, ...]) -> list[InstanceType]:
    known = [each for each in INSTANCE_TYPES.values() if each.gpus and not each.retired]
    problems = []
    for given in types:
        if not any(_is_named(each, given) for each in known):
            fix = known_names(given, [each.name for each in known])
            allowed = "it is no type with GPUs of the catalog"
            problems.append(Problem(path=("types",), given=given, allowed=allowed, fix=fix))
    if problems:
        raise InputError(*problems)
    return [each for each in known if not types or any(_is_named(each, given) for given in types)]


def _is_named(instance: InstanceType, given: str) -> bool:
    return given in (instance.name, instance.name.partition(".")[0])


def _row(instance: InstanceType, region: str | None) -> tuple[str, ...]:
    values = _values(instance)
    return (
        instance.name,
        str(instance.gpus),
        values["gpu"],
        str(values["gpu_memory_gib"]),
        str(instance.efa_interfaces),
        f"{instance.network_gbps:g}",
        str(instance.vcpus),
        str(instance.memory_gib),
        *("-" if values[name] is None else f"{values[name]:.2f}" for name in ("usd_per_hour", "usd_per_hour_and_gpu")),
        region or ", ".join(_shown(values["regions"])),
    )


def _shown(regions: list[str]) -> Iterator[str]:
    yield from regions[:_FEW_REGIONS]
    if len(regions) > _FEW_REGIONS:
        yield f"{len(regions) - _FEW_REGIONS} more"


def _values(instance: InstanceType) -> dict[str, Any]:
    assert instance.gpu is not None
    price = instance.price.usd_per_hour if instance.price else None
    return {
        "type": instance.name,
        "gpus": instance.gpus,
        "gpu": instance.gpu.model,
        "gpu_memory_gib": instance.gpu.memory_gib,
        "efa_interfaces": instance.efa_interfaces,
        "network_gbps": instance.network_gbps,
        "vcpus": instance.vcpus,
        "memory_gib": instance.memory_gib,
        "usd_per_hour": price,
        "usd_per_hour_and_gpu": None if price is None else round(price / instance.gpus, 4),
        "regions": offered_regions(instance.name),
    }
