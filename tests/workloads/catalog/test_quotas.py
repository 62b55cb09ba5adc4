"""The quotas, as AWS's pages list them."""

import re

import pytest

from training_workloads.catalog import INSTANCE_TYPES, quotas
from training_workloads.catalog.quotas import Quota, vcpu_quota


@pytest.mark.parametrize(
    ("name", "on_demand", "spot"),
    [
        ("m5.xlarge", "L-1216C47A", None),
        ("g4dn.12xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p3dn.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p4de.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p5en.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p6-b200.48xlarge", "L-417A185B", None),
    ],
)
def test_a_family_has_its_quotas(name: str, on_demand: str, spot: str | None) -> None:
    found = vcpu_quota(name, spot=False)
    assert found is not None
    assert found.code == on_demand
    of_spot = vcpu_quota(name, spot=True)
    assert (of_spot.code if of_spot else None) == spot


def test_each_type_of_the_catalog_has_an_on_demand_quota() -> None:
    assert [name for name in INSTANCE_TYPES if vcpu_quota(name, spot=False) is None] == []


def test_codes_have_their_form_and_occur_once() -> None:
    values = [*vars(quotas).values(), *quotas.LUSTRE_CAPACITY.values(), *quotas.LUSTRE_FILE_SYSTEMS.values()]
    codes = [each.code for each in values if isinstance(each, Quota)]
    assert len(codes) == 15
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"L-[0-9A-F]{8}", code) for code in codes)
