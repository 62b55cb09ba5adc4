"""Advisories in OSV's format: whether one affects a version, and the extract for what this project locks.

https://ossf.github.io/osv-schema/ (read 2026-11-28). The extract is `scan/advisories.json`, an advisory a line.
"""

import json
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from scan.lock_files import ROOT, Locked, locked_packages, normalized

__all__ = ["Advisory", "read_advisories", "record"]

EXTRACT = ROOT / "scan/advisories.json"
_KEPT = ("id", "aliases", "summary", "references")


@dataclass(frozen=True, kw_only=True, slots=True)
class Advisory:
    """One record of OSV's.

    Attributes:
        id: Its id, such as GHSA-… or PYSEC-….
        names: The id and its aliases, such as CVE-….
        summary: What it is about.
        affected: The packages, with ranges and versions.
    """

    id: str
    names: frozenset[str]
    summary: str
    affected: tuple[dict[str, Any], ...]

    def affects(self, locked: Locked) -> bool:
        """Return whether it affects a locked version."""
        return any(_affects(each, locked) for each in self.affected)

    def fixed_in(self, locked: Locked) -> list[str]:
        """Return the versions that fix a package, the oldest first."""
        events = [
            event
            for each in self.affected
            if _is_of(each, locked)
            for ranges in each.get("ranges", ())
            for event in ranges["events"]
        ]
        return sorted({event["fixed"] for event in events if "fixed" in event}, key=_ordered)


def _is_of(affected: dict[str, Any], locked: Locked) -> bool:
    package = affected["package"]
    return (package["ecosystem"], _name(package)) == (locked.ecosystem, locked.name)


def _name(package: dict[str, Any]) -> str:
    return normalized(package["name"]) if package["ecosystem"] == "PyPI" else package["name"]


def _affects(affected: dict[str, Any], locked: Locked) -> bool:
    if not _is_of(affected, locked):
        return False
    if locked.version in affected.get("versions", ()):
        return True
    # A range of GIT has commits, which no lock names.
    ranges = [each for each in affected.get("ranges", ()) if each["type"] != "GIT"]
    return any(_in_range(each["events"], _ordered(locked.version)) for each in ranges)


def _in_range(events: Iterable[dict[str, str]], version: Version) -> bool:
    """Return whether a version is in a range: the last event before it decides."""
    inside = False
    for event in sorted(events, key=lambda each: _ordered(next(iter(each.values())))):
        (kind, limit), *_ = event.items()
        if kind == "introduced":
            inside = inside or version >= _ordered(limit)
        elif kind == "fixed":
            inside = inside and version < _ordered(limit)
        elif kind == "last_affected":
            inside = inside and version <= _ordered(limit)
    return inside


def _ordered(text: str) -> Version:
    """Return a version that compares: what PEP 440 does not know is before all others, as OSV's `0` is."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def read_advisories(path: Path = EXTRACT) -> tuple[date, str, list[Advisory]]:
    """Return the day of the extract, where it is from, and its advisories."""
    found = json.loads(path.read_text())
    advisories = [
        Advisory(
            id=each["id"],
            names=frozenset((each["id"], *each.get("aliases", ()))),
            summary=each.get("summary", ""),
            affected=tuple(each["affected"]),
        )
        for each in found["advisories"]
    ]
    return date.fromisoformat(found["recorded"]), found["source"], advisories


def record(exports: Iterable[Path], locked: Iterable[Locked], today: date, path: Path = EXTRACT) -> int:
    """Write the advisories of OSV's exports on locked packages, and return their number.

    Args:
        exports: `all.zip` of each ecosystem, as OSV publishes it.
        locked: The packages.
        today: The day.
        path: The extract.
    """
    wanted = {(each.ecosystem, each.name) for each in locked}
    kept = []
    for export in exports:
        with zipfile.ZipFile(export) as archive:
            for name in sorted(archive.namelist()):
                advisory = json.loads(archive.read(name))
                affected = [each for each in advisory.get("affected", ()) if _wanted(each, wanted)]
                if affected and "withdrawn" not in advisory:
                    kept.append({key: advisory[key] for key in _KEPT if key in advisory} | {"affected": affected})
    lines = ",\n".join(json.dumps(each, sort_keys=True) for each in kept)
    head = f'{{"recorded": "{today}", "source": "OSV\'s export", "advisories": ['
    path.write_text(f"{head}\n{lines}\n]}}\n")
    return len(kept)


def _wanted(affected: dict[str, Any], wanted: set[tuple[str, str]]) -> bool:
    package = affected.get("package")
    return package is not None and (package["ecosystem"], _name(package)) in wanted


if __name__ == "__main__":
    count = record(map(Path, sys.argv[1:]), locked_packages(), date.today())
    print(f"wrote {count} advisories to {EXTRACT.relative_to(ROOT)}")
