"""Compare the lock files with advisories, and those that affect them with the accepted ones; `make audit`.

It needs no network: the advisories are in `scan/advisories.json`. The exit code is 1 where one that is not accepted
affects a lock, or an accepted one affects none.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from scan.advisories import Advisory, read_advisories
from scan.lock_files import ROOT, Locked, locked_packages

__all__ = ["Accepted", "problems", "read_accepted"]

_DAYS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """A vulnerability that the project keeps.

    Attributes:
        id: Id of an advisory, or an alias of it.
        package: Name of the package.
        version: The version that has it: a new one is looked at again.
        reason: Why the project accepts it.
    """

    id: str
    package: str
    version: str
    reason: str

    def covers(self, advisory: Advisory, locked: Locked) -> bool:
        """Return whether this entry is about an advisory on a locked version."""
        return self.id in advisory.names and (self.package, self.version) == (locked.name, locked.version)


def read_accepted(path: Path = ROOT / "scan/accepted_vulnerabilities.yaml") -> list[Accepted]:
    """Return the entries of a file; each has all four keys, and several ids may share package, version and reason."""
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    return [Accepted(id=id, **entry) for entry in entries for id in entry.pop("ids")]


def problems(advisories: Iterable[Advisory], locked: Iterable[Locked], accepted: Iterable[Accepted]) -> Iterator[str]:
    """Yield a line for each advisory on a lock that is not accepted, and for each accepted one that no lock needs."""
    found = [(advisory, each) for each in locked for advisory in advisories if advisory.affects(each)]
    known = list(accepted)
    for advisory, each in found:
        if not any(entry.covers(advisory, each) for entry in known):
            fixed = advisory.fixed_in(each)
            fix = f"fixed in {' and '.join(fixed)}" if fixed else "no fixed release is recorded"
            names = ", ".join([advisory.id, *sorted(advisory.names - {advisory.id})])
            yield f"{each.name} {each.version} in {each.lock}: {names}: {advisory.summary}; {fix}"
    for entry in known:
        if not any(entry.covers(advisory, each) for advisory, each in found):
            what = f"{entry.package} {entry.version}: {entry.id}"
            yield f"accepted_vulnerabilities.yaml: {what}: no lock has it: remove it"


def main() -> None:
    """Print the problems, and how old and how many the advisories are."""
    recorded, source, advisories = read_advisories()
    locked = list(locked_packages())
    lines = list(problems(advisories, locked, read_accepted()))
    print("\n".join(lines), end="\n" * bool(lines))
    packages = {(each.ecosystem, each.name, each.version) for each in locked}
    print(f"{len(packages)} packages, {len(advisories)} advisories of {recorded} ({source}): {len(lines)} problems")
    if (days := (date.today() - recorded).days) > _DAYS:
        print(f"the advisories are {days} days old: run 'make advisories', which needs the internet")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
