"""What is taken from a recording of EC2, which is a wheel of moto."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

from setup.record_instance_types import recorded_regions, recorded_types

RESOURCES = "moto/ec2/resources"


def wheel(folder: Path, types: list[str], offered: dict[str, list[str]]) -> Path:
    """Write a wheel with types, and those of each region."""
    files: dict[str, Any] = {f"{RESOURCES}/instance_types.json.gz": {name: {"InstanceType": name} for name in types}}
    for region, names in offered.items():
        offers = [{"InstanceType": name, "LocationType": "region", "Location": region} for name in names]
        files[f"{RESOURCES}/instance_type_offerings/region/{region}.json.gz"] = offers
    # Not a region, and not the offers of regions.
    files[f"{RESOURCES}/instance_type_offerings/availability-zone/us-east-1.json.gz"] = []
    path = folder / "moto-9.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, gzip.compress(json.dumps(content).encode()))
    return path


def test_the_types_of_the_catalogs_families_are_taken(tmp_path: Path) -> None:
    # A new size of a family counts; another family, and another type without GPUs, does not.
    made = wheel(tmp_path, ["p4d.24xlarge", "p4d.48xlarge", "m5.xlarge", "m5.large", "trn1.2xlarge"], {})
    assert set(recorded_types(made)) == {"p4d.24xlarge", "p4d.48xlarge", "m5.xlarge"}


def test_each_region_has_the_types_that_it_offers(tmp_path: Path) -> None:
    offered = {"us-east-1": ["p4d.24xlarge", "t3.micro"], "eu-west-3": []}
    assert recorded_regions(wheel(tmp_path, [], offered)) == {
        "us-east-1": {"p4d.24xlarge", "t3.micro"},
        "eu-west-3": set(),
    }
