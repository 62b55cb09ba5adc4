"""The packages of the lock files, with their hashes and with the packages that need them."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Locked", "locked_packages", "normalized", "python_lock"]

ROOT = Path(__file__).parents[1]

# uv's: the requirement, its hashes, and who needs it, in one line or in several.
_REQUIREMENT = re.compile(
    r"^(?P<name>[\w.-]+)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)[^\n]*\n(?P<rest>(?: +[^\n]*\n)*)", flags=re.M
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Locked:
    """A version of a package in a lock file.

    Attributes:
        ecosystem: `PyPI` or `npm`, as OSV names them.
        name: Name of the package, normalized.
        version: Its version.
        lock: Path of the lock file from the root of the repository.
        sha256: Hashes of its files, in hexadecimal digits.
        sha512: The same of npm's package.
        needed_by: Names of the packages that need it; `pyproject.toml` and a group of it, as in `pyproject.toml:dev`.
    """

    ecosystem: str
    name: str
    version: str
    lock: str
    sha256: tuple[str, ...] = ()
    sha512: str | None = None
    needed_by: frozenset[str] = frozenset()


def locked_packages(root: Path = ROOT) -> Iterator[Locked]:
    """Yield every package of every lock file."""
    for path in sorted((root / "requirements").glob("*.txt")):
        yield from python_lock(path)
    packages = json.loads((root / "package-lock.json").read_text())["packages"]
    for folder, package in packages.items():
        if folder:
            yield Locked(
                ecosystem="npm",
                name=folder.rpartition("node_modules/")[2],
                version=package["version"],
                lock="package-lock.json",
                sha512=base64.b64decode(package["integrity"].removeprefix("sha512-")).hex(),
            )


def python_lock(path: Path) -> Iterator[Locked]:
    """Yield the packages of one of uv's lock files."""
    for found in _REQUIREMENT.finditer(path.read_text()):
        needed_by = re.findall(r"^ +#(?: via)? +([\w.-]+)(?: \(([\w.:-]+)\))?$", found["rest"], flags=re.M)
        yield Locked(
            ecosystem="PyPI",
            name=normalized(found["name"]),
            version=found["version"],
            lock=f"{path.parent.name}/{path.name}",
            sha256=tuple(re.findall(r"sha256:([0-9a-f]{64})", found["rest"])),
            needed_by=frozenset(group or name for name, group in needed_by if name != "via"),
        )


def normalized(name: str) -> str:
    """Return a name as the index of Python packages compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
