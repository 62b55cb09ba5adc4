"""The lock files pin everything by hash and name no package index."""

import json
import re
from pathlib import Path

import pytest

LOCKS = [
    *("cdk", "cuda", "dali", "deploy", "docs", "horovod", "mpi", "node", "scan"),
    *("torch", "torch-conformance", "torch-cuda12", "training", "uv"),
]


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_has_a_version_and_a_hash(name: str, root: Path) -> None:
    text = (root / "requirements" / f"{name}.txt").read_text().replace("\\\n", "")
    requirements = [line for line in text.splitlines() if line[:1].isalnum()]
    assert requirements
    for requirement in requirements:
        assert "==" in requirement, requirement
        assert "--hash=sha256:" in requirement, requirement


@pytest.mark.parametrize("name", LOCKS)
def test_no_lock_names_an_index(name: str, root: Path) -> None:
    text = (root / "requirements" / f"{name}.txt").read_text()
    assert "://" not in text
    assert "-index" not in text


@pytest.mark.parametrize(("environment", "added"), [("cdk", "docs"), ("torch", "torch-conformance")])
def test_a_lock_of_more_packages_fits_into_its_environment(environment: str, added: str, root: Path) -> None:
    before, after = (
        dict(re.findall(r"^([\w.-]+)==(\S+)", (root / f"requirements/{name}.txt").read_text(), flags=re.M))
        for name in (environment, added)
    )
    shared = before.keys() & after.keys()
    assert shared
    assert {name: after[name] for name in shared} == {name: before[name] for name in shared}


def test_the_npm_lock_has_hashes_and_no_address(root: Path) -> None:
    packages = json.loads((root / "package-lock.json").read_text())["packages"]
    locked = {name: package for name, package in packages.items() if name}
    assert locked
    for name, package in locked.items():
        assert "integrity" in package, name
        assert "resolved" not in package, name
