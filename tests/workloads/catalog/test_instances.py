import dataclasses
from datetime import date

import pytest

from training_workloads import INSTANCE_TYPES, InputError, InstanceType, gpu_instance_type

TYPES = list(INSTANCE_TYPES.values())


def layout(instance_type: str) -> list[tuple[int, int, str]]:
    return [(i.network_card, i.device, i.kind) for i in INSTANCE_TYPES[instance_type].network_interfaces]


@pytest.mark.parametrize(
    ("name", "gpus", "vcpus", "cores", "sockets", "memory_gib", "network_gbps", "efa_interfaces", "local_nvme_gb"),
    [
        ("p3.2xlarge", 1, 8, 4, 1, 61, 10, 0, 0),
        ("p3.8xlarge", 4, 32, 16, 1, 244, 10, 0, 0),
        ("p3.16xlarge", 8, 64, 32, 2, 488, 25, 0, 0),
        ("p3dn.24xlarge", 8, 96, 48, 2, 768, 100, 1, 1800),
        ("p4d.24xlarge", 8, 96, 48, 2, 1152, 400, 4, 8000),
        ("p4de.24xlarge", 8, 96, 48, 2, 1152, 400, 4, 8000),
        ("p5.4xlarge", 1, 16, 8, 1, 256, 100, 1, 3800),
        ("p5.48xlarge", 8, 192, 96, 2, 2048, 3200, 32, 30400),
        ("p5e.48xlarge", 8, 192, 96, 2, 2048, 3200, 32, 30400),
        ("p5en.48xlarge", 8, 192, 96, 2, 2048, 3200, 16, 30400),
        ("p6-b200.48xlarge", 8, 192, 96, 2, 2048, 3200, 8, 30400),
        ("p6-b300.48xlarge", 8, 192, 96, 2, 4096, 6400, 16, 30400),
        ("g4dn.xlarge", 1, 4, 2, 1, 16, 25, 0, 125),
        ("g4dn.12xlarge", 4, 48, 24, 1, 192, 50, 1, 900),
        ("g4dn.metal", 8, 96, 48, 2, 384, 100, 1, 1800),
        ("g5.4xlarge", 1, 16, 8, 1, 64, 25, 0, 600),
        ("g5.48xlarge", 8, 192, 96, 2, 768, 100, 1, 7600),
        ("g6.8xlarge", 1, 32, 16, 1, 128, 25, 1, 900),
        ("g6.48xlarge", 8, 192, 96, 2, 768, 100, 1, 7520),
        ("g6e.4xlarge", 1, 16, 8, 1, 128, 20, 0, 600),
        ("g6e.24xlarge", 4, 96, 48, 1, 768, 200, 2, 3800),
        ("g6e.48xlarge", 8, 192, 96, 2, 1536, 400, 4, 7600),
        ("m5.xlarge", 0, 4, 2, 1, 16, 10, 0, 0),
    ],
)
def test_what_a_type_has(
    name: str,
    gpus: int,
    vcpus: int,
    cores: int,
    sockets: int,
    memory_gib: int,
    network_gbps: int,
    efa_interfaces: int,
    local_nvme_gb: int,
) -> None:
    one = INSTANCE_TYPES[name]
    assert (one.gpus, one.vcpus, one.cores, one.sockets) == (gpus, vcpus, cores, sockets)
    assert (one.memory_gib, one.network_gbps) == (memory_gib, network_gbps)
    assert (one.efa_interfaces, one.local_nvme_gb) == (efa_interfaces, local_nvme_gb)


def test_the_catalog_has_every_size_of_the_g_families() -> None:
    sizes = {"xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge", "48xlarge"}
    for family in ("g5", "g6", "g6e"):
        assert {name.split(".")[1] for name in INSTANCE_TYPES if name.startswith(f"{family}.")} == sizes
    assert {name.split(".")[1] for name in INSTANCE_TYPES if name.startswith("g4dn.")} == {
        *(sizes - {"24xlarge", "48xlarge"}),
        "metal",
    }


@pytest.mark.parametrize("name", ["p3.16xlarge", "g5.4xlarge", "m5.xlarge"])
def test_a_type_without_efa_has_the_primary_interface_only(name: str) -> None:
    assert layout(name) == [(0, 0, "interface")]


@pytest.mark.parametrize("name", ["p3dn.24xlarge", "p5.4xlarge", "g4dn.metal", "g5.48xlarge", "g6.8xlarge"])
def test_on_a_type_with_one_card_efa_is_its_second_device(name: str) -> None:
    assert layout(name) == [(0, 0, "interface"), (0, 1, "efa-only")]


def test_p4d_has_an_efa_device_on_each_of_its_four_cards() -> None:
    assert layout("p4d.24xlarge") == [
        (0, 0, "interface"),
        (0, 1, "efa-only"),
        (1, 0, "efa-only"),
        (2, 0, "efa-only"),
        (3, 0, "efa-only"),
    ]


@pytest.mark.parametrize("name", ["p5.48xlarge", "p5e.48xlarge"])
def test_p5_has_thirty_two_cards_and_thirty_three_interfaces(name: str) -> None:
    assert layout(name)[:3] == [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")]
    assert layout(name)[-1] == (31, 0, "efa-only")
    assert len(layout(name)) == 33


def test_the_first_card_of_p6_b300_has_no_efa() -> None:
    assert layout("p6-b300.48xlarge")[:2] == [(0, 0, "interface"), (1, 0, "efa-only")]
    assert layout("p6-b300.48xlarge")[-1] == (16, 0, "efa-only")
    assert len(layout("p6-b300.48xlarge")) == 17


def test_capacity_blocks_are_sold_of_p4_and_newer_p_types() -> None:
    assert {one.name for one in TYPES if one.capacity_block} == {
        "p4d.24xlarge",
        "p4de.24xlarge",
        "p5.4xlarge",
        "p5.48xlarge",
        "p5e.48xlarge",
        "p5en.48xlarge",
        "p6-b200.48xlarge",
        "p6-b300.48xlarge",
    }


def test_published_bus_bandwidths() -> None:
    published = {
        one.name: (bandwidth.gigabytes_per_second, bandwidth.message_gib, bandwidth.nodes)
        for one in TYPES
        if (bandwidth := one.all_reduce_bandwidth)
    }
    assert published == {
        "p4de.24xlarge": (78.3, 2, 2),
        "p5.48xlarge": (487, 16, 2),
        "p6-b200.48xlarge": (523.8, 8, 2),
    }


def test_prices_carry_the_day_on_which_they_held() -> None:
    p4d = INSTANCE_TYPES["p4d.24xlarge"].price
    assert p4d
    assert (p4d.usd_per_hour, p4d.region, p4d.checked) == (21.957642, "us-east-1", date(2026, 2, 9))
    assert {one.name for one in TYPES if one.price is None} == {"p5e.48xlarge"}
    assert all(one.price.usd_per_hour > 0 for one in TYPES if one.price)


def test_an_unknown_type_is_answered_with_the_closest_types_that_have_gpus() -> None:
    with pytest.raises(InputError) as caught:
        gpu_instance_type("p4.24xlarge")
    assert str(caught.value).startswith(
        "'instance_type' is 'p4.24xlarge', which is not known; did you mean p4d.24xlarge or p4de.24xlarge or "
    )
    assert "m5.xlarge" not in str(caught.value)


FAMILIES = "g4dn, g5, g6, g6e, p3, p3dn, p4d, p4de, p5, p5e, p5en, p6-b200, p6-b300"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trn1.32xlarge", "has AWS Trainium chips instead of GPUs, and is not supported"),
        ("trn2.48xlarge", "has AWS Trainium chips instead of GPUs, and is not supported"),
        ("inf2.48xlarge", "has AWS Inferentia chips instead of GPUs, and is not supported"),
        ("p6e-gb200.36xlarge", "has Arm processors, and is not supported"),
        ("g5g.xlarge", "has Arm processors, and is not supported"),
        ("g4ad.4xlarge", "has AMD GPUs, and is not supported"),
        ("dl1.24xlarge", "has Gaudi or Qualcomm accelerators instead of NVIDIA GPUs, and is not supported"),
        ("c5.xlarge", "is no known type with GPUs"),
    ],
)
def test_a_type_that_is_not_supported_gets_the_families_that_are(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        gpu_instance_type(name)
    assert str(caught.value) == f"'instance_type' is {name!r}, which {message}; choose a type of {FAMILIES}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("p5", "p5.4xlarge or p5.48xlarge"),
        ("p4d", "p4d.24xlarge"),
        ("P4D.24XLARGE", "p4d.24xlarge"),
        (" p4d.24xlarge", "p4d.24xlarge"),
    ],
)
def test_a_family_or_other_letters_suggest_exactly_what_is_meant(name: str, meant: str) -> None:
    with pytest.raises(InputError) as caught:
        gpu_instance_type(name)
    assert str(caught.value) == f"'instance_type' is {name!r}, which is not known; did you mean {meant}?"


def test_a_type_without_gpus_is_refused() -> None:
    with pytest.raises(InputError, match=r"^'instance_type' is 'm5.xlarge', which has no GPU; choose one of p3"):
        gpu_instance_type("m5.xlarge")


@pytest.mark.parametrize("one", TYPES, ids=lambda one: one.name)
def test_every_row_is_consistent(one: InstanceType) -> None:
    assert INSTANCE_TYPES[one.name] is one
    assert (one.gpu is None) == (one.gpus == 0)
    assert one.vcpus == 2 * one.cores
    assert one.sockets is None or one.cores % one.sockets == 0
    assert one.placement_group
    primary = one.network_interfaces[0]
    assert (primary.network_card, primary.device, primary.kind) == (0, 0, "interface")
    assert len({(i.network_card, i.device) for i in one.network_interfaces}) == len(one.network_interfaces)
    assert one.ip_interfaces == 1
    assert not (one.network_bursts and one.efa_interfaces), "EFA types have a sustained bandwidth"


@pytest.mark.parametrize("one", TYPES, ids=lambda one: one.name)
def test_every_number_has_a_source_and_a_date(one: InstanceType) -> None:
    for fact in (one, one.price, one.all_reduce_bandwidth):
        if fact:
            assert fact.source.startswith("https://")
            assert date(2025, 12, 1) <= fact.checked <= date(2026, 11, 21)
    assert one.checked == date(2026, 11, 21)


@pytest.mark.parametrize("one", TYPES, ids=lambda one: one.name)
def test_exactly_what_is_missing_has_a_reason(one: InstanceType) -> None:
    # A type without GPUs has no model: that is an answer, not a gap.
    missing = {each.name for each in dataclasses.fields(one) if getattr(one, each.name) is None} - {"gpu"}
    assert set(one.unknown) == missing
    assert all(one.unknown.values())


def test_rows_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        INSTANCE_TYPES["p3.16xlarge"].gpus = 16  # type: ignore[misc]
