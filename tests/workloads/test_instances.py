import dataclasses

import pytest

from training_workloads import INSTANCE_TYPES, InputError, gpu_instance_type


def test_p3_has_no_efa() -> None:
    p3 = gpu_instance_type("p3.16xlarge")
    assert (p3.gpus, p3.vcpus, p3.memory_gib, p3.efa_interfaces) == (8, 64, 488, 0)
    assert [interface.kind for interface in p3.network_interfaces] == ["interface"]


def test_p4d_has_four_efa_interfaces_of_which_only_the_primary_has_an_address() -> None:
    p4d = gpu_instance_type("p4d.24xlarge")
    assert (p4d.gpus, p4d.vcpus, p4d.memory_gib, p4d.efa_interfaces) == (8, 96, 1152, 4)
    layout = [(i.network_card, i.device, i.kind) for i in p4d.network_interfaces]
    assert layout == [(0, 0, "efa"), (1, 1, "efa-only"), (2, 1, "efa-only"), (3, 1, "efa-only")]


def test_an_unknown_type_is_answered_with_the_types_that_have_gpus() -> None:
    with pytest.raises(InputError) as caught:
        gpu_instance_type("p4.24xlarge")
    assert str(caught.value) == (
        "'instance_type' is 'p4.24xlarge', which is not known; "
        "did you mean p4d.24xlarge or p3.16xlarge? known: p3.16xlarge, p4d.24xlarge"
    )


def test_a_type_without_gpus_is_refused() -> None:
    with pytest.raises(InputError, match=r"^'instance_type' is 'm5.xlarge', which has no GPU; choose one of p3"):
        gpu_instance_type("m5.xlarge")


@pytest.mark.parametrize("name", INSTANCE_TYPES)
def test_every_row_is_consistent_and_has_a_source(name: str) -> None:
    row = INSTANCE_TYPES[name]
    assert row.name == name
    assert row.source.startswith("https://docs.aws.amazon.com/")
    assert (row.gpu is None) == (row.gpus == 0)
    assert row.cores % row.sockets == 0
    assert row.vcpus == 2 * row.cores
    primary = row.network_interfaces[0]
    assert (primary.network_card, primary.device) == (0, 0)
    assert primary.kind != "efa-only"


def test_rows_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        INSTANCE_TYPES["p3.16xlarge"].gpus = 16  # type: ignore[misc]
