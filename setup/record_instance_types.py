"""Record what EC2's DescribeInstanceTypes returned for the families of the catalog.

The package moto contains such recordings; no AWS account is needed. The newest wheel goes first; a later one fills in
the types that the newer recordings no longer have (EC2 stopped offering p3 in the region that moto records):

    pip download --no-deps moto==5.2.5
    pip download --no-deps moto==5.1.10
    python setup/record_instance_types.py moto-5.2.5-*.whl moto-5.1.10-*.whl

`tests/workloads/catalog/test_recorded_types.py` compares the catalog with the file.
"""

import gzip
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

from training_workloads import INSTANCE_TYPES

RECORDED = Path(__file__).parents[1] / "tests/workloads/catalog/recorded/instance_types.json"
_IN_THE_WHEEL = "moto/ec2/resources/instance_types.json.gz"

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
    """Write the recording from one or more wheels of moto, newest first."""
    if not wheels:
        sys.exit(__doc__)
    families = {name.partition(".")[0] for name, one in INSTANCE_TYPES.items() if one.gpus}
    without_gpus = {name for name, one in INSTANCE_TYPES.items() if not one.gpus}
    recorded: dict[str, Any] = {}
    for wheel in wheels:
        for name, described in _read(Path(wheel)).items():
            if name not in recorded and (name.partition(".")[0] in families or name in without_gpus):
                recorded[name] = {
                    "RecordedBy": "-".join(Path(wheel).name.split("-")[:2]),
                    **_extract(described, _FIELDS),
                }
    RECORDED.parent.mkdir(exist_ok=True)
    # One type on a line: a refresh shows what changed.
    lines = [f"{json.dumps(name)}: {json.dumps(recorded[name])}" for name in sorted(recorded)]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _read(wheel: Path) -> dict[str, Any]:
    with zipfile.ZipFile(wheel) as archive:
        return dict(json.loads(gzip.decompress(archive.read(_IN_THE_WHEEL))))


def _extract(value: Any, fields: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_extract(each, fields) for each in value]
    if not fields or not isinstance(value, dict):
        return value
    return {name: _extract(value[name], inner) for name, inner in fields.items() if name in value}


if __name__ == "__main__":
    main(*sys.argv[1:])
