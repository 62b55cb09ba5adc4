"""The zones that EKS rejects, as its page lists them."""

import re

from training_workloads.catalog.zones import EKS_REFUSED_ZONE_IDS


def test_they_are_those_of_the_page() -> None:
    assert {zone for zones in EKS_REFUSED_ZONE_IDS.values() for zone in zones} == {"use1-az3", "usw1-az2", "cac1-az3"}


def test_they_are_ids_and_not_names() -> None:
    for region, zones in EKS_REFUSED_ZONE_IDS.items():
        assert re.fullmatch(r"[a-z]{2}-[a-z]+-\d", region)
        for zone in zones:
            assert re.fullmatch(r"[a-z]{3}\d-az\d", zone)
