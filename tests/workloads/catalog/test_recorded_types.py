"""The catalog states what DescribeInstanceTypes returned; setup/record_instance_types.py records it."""

import json
from pathlib import Path
from typing import Any

import pytest

from training_workloads import INSTANCE_TYPES, InstanceType

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded/instance_types.json").read_text())

#: EC2 states the bandwidth of p4d and p4de by card.
BY_CARD = {"4x 100 Gigabit": "400 Gigabit"}

each_type = pytest.mark.parametrize("one", INSTANCE_TYPES.values(), ids=lambda one: one.name)


def test_the_catalog_has_every_recorded_size_of_its_families() -> None:
    assert set(INSTANCE_TYPES) == set(RECORDED)


@each_type
def test_gpus(one: InstanceType) -> None:
    info = RECORDED[one.name].get("GpuInfo", {"Gpus": []})["Gpus"]
    gpus = [(gpu["Manufacturer"], gpu["Name"], gpu["MemoryInfo"]["SizeInMiB"] // 1024, gpu["Count"]) for gpu in info]
    assert gpus == ([("NVIDIA", one.gpu.model, one.gpu.memory_gib, one.gpus)] if one.gpu else [])


@each_type
def test_processors_and_memory(one: InstanceType) -> None:
    recorded = RECORDED[one.name]
    cpu = {"DefaultVCpus": one.vcpus, "DefaultCores": one.cores, "DefaultThreadsPerCore": one.vcpus // one.cores}
    assert recorded["VCpuInfo"] == cpu
    assert recorded["ProcessorInfo"]["SupportedArchitectures"] == ["x86_64"]
    assert recorded["MemoryInfo"]["SizeInMiB"] == one.memory_gib * 1024


@each_type
def test_local_disks(one: InstanceType) -> None:
    recorded = RECORDED[one.name].get("InstanceStorageInfo", {"TotalSizeInGB": 0, "Disks": []})
    assert recorded["TotalSizeInGB"] == one.local_nvme_gb
    assert sum(disks["Count"] for disks in recorded["Disks"]) == one.local_nvme_disks


@each_type
def test_network_bandwidth(one: InstanceType) -> None:
    recorded = RECORDED[one.name]["NetworkInfo"]["NetworkPerformance"]
    prefix = "Up to " if one.network_bursts else ""
    assert BY_CARD.get(recorded, recorded) == f"{prefix}{one.network_gbps:g} Gigabit"


@each_type
def test_every_card_with_efa_gets_one_efa_interface(one: InstanceType) -> None:
    network = RECORDED[one.name]["NetworkInfo"]
    # The recordings of p3 are older than the field InterfaceTypes; p3 has no EFA.
    efa_cards = [
        card["NetworkCardIndex"] for card in network["NetworkCards"] if "efa-only" in card.get("InterfaceTypes", [])
    ]
    assert [i.network_card for i in one.network_interfaces if i.kind == "efa-only"] == efa_cards
    assert one.efa_interfaces == network.get("EfaInfo", {"MaximumEfaInterfaces": 0})["MaximumEfaInterfaces"]


@each_type
def test_no_card_gets_more_interfaces_than_it_has(one: InstanceType) -> None:
    limits = {
        card["NetworkCardIndex"]: card["MaximumNetworkInterfaces"]
        for card in RECORDED[one.name]["NetworkInfo"]["NetworkCards"]
    }
    used = [interface.network_card for interface in one.network_interfaces]
    assert [card for card in used if used.count(card) > limits[card]] == []


@each_type
def test_placement_groups_and_capacity_blocks(one: InstanceType) -> None:
    recorded = RECORDED[one.name]
    assert ("cluster" in recorded["PlacementGroupInfo"]["SupportedStrategies"]) == one.placement_group
    assert ("capacity-block" in recorded["SupportedUsageClasses"]) == one.capacity_block


def test_every_recording_names_its_origin() -> None:
    older = {name for name, one in RECORDED.items() if one["RecordedBy"] != "moto-5.2.5"}
    assert older == {"p3.2xlarge", "p3.8xlarge", "p3.16xlarge"}
    assert {RECORDED[name]["RecordedBy"] for name in older} == {"moto-5.1.10"}
