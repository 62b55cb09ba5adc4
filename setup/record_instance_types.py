"""Record EC2's answers on the families of the catalog: DescribeInstanceTypes, and DescribeInstanceTypeOfferings.

The package moto contains such recordings; no AWS account is needed. The newest wheel goes first; it alone says where
EC2 offers a type. A later wheel fills in the facts of types that EC2 has retired since:

    pip download --no-deps moto==5.2.5
    pip download --no-deps moto==5.1.10
    python -m setup.record_instance_types moto-5.2.5-*.whl moto-5.1.10-*.whl

It writes two files: what `tests/workloads/catalog/test_recorded_types.py` compares the catalog with, and the regions
that `catalog/offers.py` reads. `make outdated` compares the second with the newest wheel.
"""

import gzip
import json
import sys
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

from training_workloads import INSTANCE_TYPES

__all__ = ["recorded_regions", "recorded_types"]

_ROOT = Path(__file__).parents[1]
_TYPES_FILE = _ROOT / "tests/workloads/catalog/recorded/instance_types.json"
_REGIONS_FILE = _ROOT / "workloads/training_workloads/catalog/offered_regions.json"
_RESOURCES = "moto/ec2/resources/"
_TYPES = f"{_RESOURCES}instance_types.json.gz"
_OFFERINGS = f"{_RESOURCES}instance_type_offerings/region/"

#: The fields that the catalog has facts about, in EC2's names; a dictionary names fields inside a field.
_FIELDS: dict[str, Any] = {
    "InstanceType": {},
    "GpuInfo": {"Gpus": {"Name": {}, "Manufacturer": {}, "Count": {}, "MemoryInfo": {}}},
    "VCpuInfo": {"DefaultVCpus": {}, "DefaultCores": {}, "DefaultThreadsPerCore": {}},
    "MemoryInfo": {},
    "NetworkInfo": {
        "NetworkPerformance": {},
        "EfaInfo": {},
        "NetworkCards": {"NetworkCardIndex": {}, "MaximumNetworkInterfaces": {}, "InterfaceTypes": {}},
    },
    "InstanceStorageInfo": {"TotalSizeInGB": {}, "Disks": {"Count": {}}},
    "PlacementGroupInfo": {},
    "ProcessorInfo": {"SupportedArchitectures": {}},
    "SupportedUsageClasses": {},
}


def main(*wheels: str) -> None:
    """Write both files from one or more wheels of moto, newest first."""
    if not wheels:
        sys.exit(__doc__)
    recorded: dict[str, Any] = {}
    for wheel in map(Path, wheels):
        for name, described in recorded_types(wheel).items():
            facts = {"RecordedBy": _release(wheel), **_extract(described, _FIELDS)}
            recorded.setdefault(name, facts)
    _write(_TYPES_FILE, recorded)
    newest = Path(wheels[0])
    regions = recorded_regions(newest)
    offered = {name: sorted(region for region in regions if name in regions[region]) for name in recorded}
    about = {"recorded_by": _release(newest), "recorded_on": _released_on(newest).isoformat()}
    _write(_REGIONS_FILE, {**about, "regions": sorted(regions), **offered})


def recorded_types(wheel: Path) -> dict[str, Any]:
    """Return the answer of DescribeInstanceTypes for each type of the catalog's families that EC2 had, by its name."""
    families = {name.partition(".")[0] for name, one in INSTANCE_TYPES.items() if one.gpus}
    without_gpus = {name for name, one in INSTANCE_TYPES.items() if not one.gpus}
    described = dict(_read(wheel, _TYPES))
    return {name: described[name] for name in described if name.partition(".")[0] in families or name in without_gpus}


def recorded_regions(wheel: Path) -> dict[str, set[str]]:
    """Return the types that EC2 offered in each recorded region."""
    with zipfile.ZipFile(wheel) as archive:
        files = [name for name in archive.namelist() if name.startswith(_OFFERINGS)]
    names = {file.removeprefix(_OFFERINGS).partition(".")[0]: file for file in files}
    return {region: {each["InstanceType"] for each in _read(wheel, file)} for region, file in names.items()}


def _release(wheel: Path) -> str:
    return "-".join(wheel.name.split("-")[:2])


def _released_on(wheel: Path) -> date:
    with zipfile.ZipFile(wheel) as archive:
        return date(*archive.getinfo(_TYPES).date_time[:3])


def _read(wheel: Path, file: str) -> Any:
    with zipfile.ZipFile(wheel) as archive:
        return json.loads(gzip.decompress(archive.read(file)))


def _write(path: Path, content: dict[str, Any]) -> None:
    # One type on a line: a refresh shows what changed.
    plain = [name for name in content if "." not in name]
    names = [*plain, *sorted(set(content) - set(plain))]
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(content[name])}" for name in names) + "\n}\n")


def _extract(value: Any, fields: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_extract(each, fields) for each in value]
    if not fields or not isinstance(value, dict):
        return value
    return {name: _extract(value[name], inner) for name, inner in fields.items() if name in value}


if __name__ == "__main__":
    main(*sys.argv[1:])
