import dataclasses
from datetime import date

import pytest

from training_workloads import INSTANCE_TYPES, InputError, InstanceType, gpu_instance_type
from training_workloads.catalog import supported_gpu_type

TYPES = list(INSTANCE_TYPES.values())
RETIRED = [one.name for one in TYPES if one.retired]


def layout(instance_type: str) -> list[tuple[int, int, str]]:
    return [(i.network_card, i.device, i.kind) for i in INSTANCE_TYPES[instance_type].network_interfaces]


PRIMARY = (0, 0, "interface")
SECOND_DEVICE = (0, 1, "efa-only")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p3.16xlarge", [PRIMARY]),
        ("m5.xlarge", [PRIMARY]),
        ("p3dn.24xlarge", [PRIMARY, SECOND_DEVICE]),
        ("g5.48xlarge", [PRIMARY, SECOND_DEVICE]),
        ("p4d.24xlarge", [PRIMARY, SECOND_DEVICE, *((card, 0, "efa-only") for card in range(1, 4))]),
        ("p5.48xlarge", [PRIMARY, SECOND_DEVICE, *((card, 0, "efa-only") for card in range(1, 32))]),
        # Its first card has no EFA.
        ("p6-b300.48xlarge", [PRIMARY, *((card, 0, "efa-only") for card in range(1, 17))]),
    ],
)
def test_the_first_card_has_the_primary_interface_and_efa_is_the_only_device_of_others(
    name: str, expected: list[tuple[int, int, str]]
) -> None:
    assert layout(name) == expected


def test_all_types_but_the_newest_and_one_other_have_a_price() -> None:
    unpriced = {one.name for one in TYPES if one.price is None}
    assert {name for name in unpriced if not name.startswith("g7.")} == {"p5e.48xlarge"}
    assert all(one.price.usd_per_hour > 0 for one in TYPES if one.price)


FAMILIES = "g4dn, g5, g6, g6e, g7, g7e, gr6, p3dn, p4d, p4de, p5, p5e, p5en, p6-b200, p6-b300"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trn1.32xlarge", "it has AWS Trainium chips instead of GPUs, which are not supported"),
        ("trn2.48xlarge", "it has AWS Trainium chips instead of GPUs, which are not supported"),
        ("inf2.48xlarge", "it has AWS Inferentia chips instead of GPUs, which are not supported"),
        ("p6e-gb200.36xlarge", "it has Arm processors, which are not supported"),
        ("g5g.xlarge", "it has Arm processors, which are not supported"),
        ("g4ad.4xlarge", "it has AMD GPUs, which are not supported"),
        ("dl1.24xlarge", "it has Gaudi or Qualcomm accelerators instead of NVIDIA GPUs, which are not supported"),
        ("c5.xlarge", "it is not a known type with GPUs"),
        ("p2.16xlarge", "AWS has retired it"),
        ("g3s.xlarge", "AWS has retired it"),
        ("p3.4xlarge", "AWS has retired P3, p3dn.24xlarge excepted"),
        *[
            (
                fraction,
                "it has a fraction of an L4, a vGPU that EC2 counts as 0 GPUs: this library gives jobs whole GPUs, and "
                "the autoscaler would never start such a node for them (g6 and gr6 have a whole L4)",
            )
            for fraction in ("g6f.xlarge", "gr6f.4xlarge")
        ],
    ],
)
def test_suggests_the_supported_families_for_an_unsupported_type(name: str, text: str) -> None:
    (problem,) = supported_gpu_type(name)
    assert str(problem) == f"'instance_type' is {name!r}, but {text}; choose a type of {FAMILIES}"


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("p5", "p5.4xlarge or p5.48xlarge"),
        ("p4d", "p4d.24xlarge"),
        ("P4D.24XLARGE", "p4d.24xlarge"),
        (" p4d.24xlarge", "p4d.24xlarge"),
    ],
)
def test_suggests_the_types_of_a_family_or_of_another_spelling(name: str, suggestion: str) -> None:
    (problem,) = supported_gpu_type(name)
    assert str(problem) == f"'instance_type' is {name!r}, but it is not known; did you mean {suggestion}?"


def test_suggests_the_closest_types_with_gpus() -> None:
    (problem,) = supported_gpu_type("p4.24xlarge")
    assert problem.fix.startswith("did you mean p4d.24xlarge or p4de.24xlarge or ")
    assert "m5.xlarge" not in problem.fix


@pytest.mark.parametrize(
    "name", ["p2.16xlarge", "g3.4xlarge", "p3.4xlarge", "P3.16XLARGE", "p3", "p3dn", "m5.xlarge", "c5.xlarge"]
)
def test_suggests_no_retired_type(name: str) -> None:
    (problem,) = supported_gpu_type(name)
    assert [retired for retired in RETIRED if retired in str(problem).replace(repr(name), "")] == []


@pytest.mark.parametrize(
    ("name", "suggestion"), [("P3.16XLARGE", "p3dn.24xlarge"), ("p3", "p3dn.24xlarge"), ("p3dn", "p3dn.24xlarge")]
)
def test_suggests_the_type_that_remains_of_p3(name: str, suggestion: str) -> None:
    (problem,) = supported_gpu_type(name)
    assert suggestion in str(problem)


def test_rejects_a_type_without_gpus() -> None:
    (problem,) = supported_gpu_type("m5.xlarge")
    expected = "'instance_type' is 'm5.xlarge', but it has no GPU; choose one of p3dn.24xlarge, p4d.24xlarge, "
    assert str(problem).startswith(expected)


@pytest.mark.parametrize("value", [None, 4, ["p4d.24xlarge"]])
def test_rejects_a_value_that_is_no_name(value: object) -> None:
    (problem,) = supported_gpu_type(value)
    assert str(problem) == f"'instance_type' is {value!r}; give EC2's name of a type, such as p4d.24xlarge"


def test_returns_the_type_or_raises_the_problem() -> None:
    assert gpu_instance_type("p4d.24xlarge") is INSTANCE_TYPES["p4d.24xlarge"]
    with pytest.raises(InputError) as caught:
        gpu_instance_type("p4.24xlarge")
    assert caught.value.problems[0].path == ("instance_type",)


@pytest.mark.parametrize("one", TYPES, ids=lambda one: one.name)
def test_every_row_is_consistent(one: InstanceType) -> None:
    assert INSTANCE_TYPES[one.name] is one
    assert (one.gpu is None) == (one.gpus == 0)
    assert (one.local_nvme_disks == 0) == (one.local_nvme_gb == 0)
    assert one.sockets is None or one.cores % one.sockets == 0
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
def test_each_missing_number_has_a_reason(one: InstanceType) -> None:
    # A type without GPUs has no model: None is the answer.
    # Nor has a type that AWS has not retired the end of one.
    missing = {each.name for each in dataclasses.fields(one) if getattr(one, each.name) is None} - {"gpu", "retired"}
    assert set(one.unknown) == missing
    assert all(one.unknown.values())


def test_rows_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        INSTANCE_TYPES["p3dn.24xlarge"].gpus = 16  # type: ignore[misc]
