"""What every test of the CDK side needs."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The Node.js that the set-up chose lies beside the interpreter, whether or not the environment is activated.
os.environ["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"


def pytest_configure(config: pytest.Config) -> None:
    """Snapshots change only by an explicit flag, and never in CI."""
    if os.environ.get("CI") and config.getoption("update_snapshots", default=False):
        raise pytest.UsageError("--snapshot-update is not allowed in CI; update on your machine and commit the result")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
