"""Record the packages of EKS's AL2023 AMIs by release, from the changelog of awslabs/amazon-eks-ami.

    curl -LO https://raw.githubusercontent.com/awslabs/amazon-eks-ami/main/CHANGELOG.md
    python -m setup.record_ami_packages CHANGELOG.md

It writes `catalog/ami_packages.json`. Rows of releases that the changelog lacks stay, such as those of an issue. The
changelog names no faults: read the issues labelled `bug` and the release notes that begin with `Important`, add them to
`AMI_FAULTS` in `catalog/ami_releases.py`, and set `AMI_FAULTS_CHECKED`.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from training_workloads.catalog.ami_releases import Ami

__all__ = ["main", "recorded_packages"]

_FILE = Path(__file__).parents[1] / "workloads/training_workloads/catalog/ami_packages.json"
_SOURCE = "https://github.com/awslabs/amazon-eks-ami/releases/tag/v{release}"

_COLUMNS = {f"AL2023_x86_64_{ami.upper()}": ami for ami in get_args(Ami)}
#: The catalog's names of packages, by those of the changelog.
_PACKAGES = {
    r"nvidia-container-toolkit": "toolkit",
    r"kmod-nvidia.*": "driver",
    r"kernel[\d.]*": "kernel",
    r"efa": "efa",
    r"ena": "ena",
}
_RELEASE = re.compile(r"^#+ AMI Release v?(\d{8})", re.MULTILINE)
_KUBERNETES = re.compile(r"<summary><b>Kubernetes (\d+\.\d+)</b></summary>")
_TABLE = re.compile(r"<table>(.*?)</table>", re.DOTALL)
_CELL = re.compile(r'<t[hd](?: colspan="(\d+)")?[^>]*>\s*(.*?)\s*</t[hd]>', re.DOTALL)
# What Amazon Linux and NVIDIA add to a version.
_PACKAGED_FOR = re.compile(r"\.(amzn|el|fc)\d.*|-dkms$")


def main(changelog: str = "") -> None:
    """Write the file from a changelog."""
    if not changelog:
        sys.exit(__doc__)
    rows = recorded_packages(Path(changelog).read_text(encoding="utf-8"))
    if not rows:
        sys.exit(f"{changelog} has no tables of packages; give CHANGELOG.md of awslabs/amazon-eks-ami")
    new = {row["release"] for row in rows}
    kept = [row for row in json.loads(_FILE.read_text(encoding="utf-8"))["releases"] if row["release"] not in new]
    # A line for each row, so that a difference can be read.
    lines = [json.dumps(row) for row in sorted([*kept, *rows], key=lambda row: (row["release"], row["amis"]))]
    about = json.dumps(f"CHANGELOG.md of awslabs/amazon-eks-ami up to {max(new)}")
    text = ",\n".join(lines)
    _FILE.write_text(f'{{"recorded_by": {about},\n"releases": [\n{text}\n]}}\n', encoding="utf-8")


def recorded_packages(changelog: str) -> list[dict[str, Any]]:
    """Return a row for each release, AMI and set of packages, with the Kubernetes releases that have them."""
    rows: dict[tuple[int, str, str], dict[str, Any]] = {}
    for release, text in _sections(_RELEASE, changelog):
        for version, part in _sections(_KUBERNETES, text):
            for ami, packages in _packages(part):
                row = {"release": int(release), "amis": [ami], "kubernetes_versions": [], "packages": packages}
                key = (int(release), ami, json.dumps(packages))
                found = rows.setdefault(key, {**row, "source": _SOURCE.format(release=release)})
                found["kubernetes_versions"] = sorted({*found["kubernetes_versions"], version}, key=_minor)
    return list(rows.values())


def _sections(heading: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield the name in each heading, with the text below it."""
    parts = heading.split(text)[1:]
    yield from zip(parts[::2], parts[1::2], strict=True)


def _packages(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the packages of each AMI of the tables that have a column for it."""
    for table in _TABLE.findall(text):
        head, *rows = [list(_cells(row)) for row in table.split("<tr>")[1:]]
        for index, column in enumerate(head):
            if ami := _COLUMNS.get(column):
                found = {_name(row[0]): row[index] for row in rows if len(row) > index and row[index] != "—"}
                yield ami, {name: _PACKAGED_FOR.sub("", found[name]) for name in sorted(found) if name}


def _cells(row: str) -> Iterator[str]:
    for columns, text in _CELL.findall(row):
        yield from [text] * int(columns or 1)


def _name(package: str) -> str:
    return next((name for pattern, name in _PACKAGES.items() if re.fullmatch(pattern, package)), "")


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


if __name__ == "__main__":
    main(*sys.argv[1:])
