"""The zones that EKS rejects, as its page lists them."""

import re

from training_workloads.catalog.zones import EKS_REFUSED_ZONE_IDS


def test_they_are_ids_and_not_names() -> None:
    for region, zones in EKS_REFUSED_ZONE_IDS.items():
        assert re.fullmatch(r"[a-z]{2}-[a-z]+-\d", region)
        for zone in zones:
            assert re.fullmatch(r"[a-z]{3}\d-az\d", zone)
