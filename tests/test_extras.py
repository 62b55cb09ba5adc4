"""The wheel alone gives the constructs, `[jobs]` rendering and lint, `[cli]` the command line."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# What a user of each extra imports.
IMPORTS = {
    "": ["training_cluster"],
    "jobs": [
        "training_workloads",
        "training_workloads.lint",
        "training_workloads.recipes",
        "training_workloads.rendering",
    ],
    "cli": [
        "training_workloads.cli",
        "training_workloads.run_local",
        "training_workloads.cluster",
        "training_cluster.cli.cluster_commands",
        "training_cluster.account.preflight",
    ],
}


def names(requirements: list[str]) -> set[str]:
    """Return the names of packages, without the extras of this project itself."""
    found = {re.split(r"[^\w.-]", requirement)[0] for requirement in requirements}
    return found - {"cdk-training-cluster"}


@pytest.fixture(scope="session")
def extras(root: Path) -> dict[str, set[str]]:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    # `[node]` is for machines without Node.js; `make setup` installs that by itself.
    return {
        name: names(requirements) for name, requirements in project["optional-dependencies"].items() if name != "node"
    }


@pytest.mark.parametrize("extra", IMPORTS)
def test_an_extra_imports_with_the_others_blocked(extra: str, extras: dict[str, set[str]]) -> None:
    installed = {"": set(), "jobs": extras["jobs"], "cli": extras["jobs"] | extras["cli"]}[extra]
    blocked = {name.replace("-", "_") for name in set().union(*extras.values()) - installed}
    program = [
        f"import sys; sys.modules |= dict.fromkeys({sorted(blocked)})",
        *(f"import {each}" for each in IMPORTS[extra]),
    ]
    result = subprocess.run([sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_lock_contains_every_extra(extras: dict[str, set[str]], root: Path) -> None:
    locked = re.findall(r"^([\w.-]+)(?:\[.*\])?==", (root / "requirements/cdk.txt").read_text(), flags=re.M)
    assert set().union(*extras.values()) <= set(locked)
