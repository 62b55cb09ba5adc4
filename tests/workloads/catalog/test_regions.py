import json
import re
from pathlib import Path

import botocore

from training_workloads.catalog.regions import EKS_REFUSED_ZONE_IDS, PARTITIONS, partition_of


def test_the_regions_are_those_of_botocore() -> None:
    data = json.loads((Path(botocore.__file__).parent / "data/partitions.json").read_text())
    for partition in data["partitions"]:
        known = {region for region in partition["regions"] if not region.endswith("-global")}
        # A newer botocore may have more; the catalog has none that it lacks.
        assert PARTITIONS[partition["id"]].regions <= known
        assert PARTITIONS[partition["id"]].domain == partition["outputs"]["dnsSuffix"]


def test_a_region_has_one_partition() -> None:
    regions = [region for partition in PARTITIONS.values() for region in partition.regions]
    assert len(regions) == len(set(regions))
    partition = partition_of("eusc-de-east-1")
    assert partition
    assert partition.name == "aws-eusc"
    assert partition_of("us-esat-1") is None


def test_they_are_those_of_the_page() -> None:
    assert {zone for zones in EKS_REFUSED_ZONE_IDS.values() for zone in zones} == {"use1-az3", "usw1-az2", "cac1-az3"}


def test_they_are_ids_and_not_names() -> None:
    for region, zones in EKS_REFUSED_ZONE_IDS.items():
        assert re.fullmatch(r"[a-z]{2}-[a-z]+-\d", region)
        for zone in zones:
            assert re.fullmatch(r"[a-z]{3}\d-az\d", zone)
