"""What every test of the CDK side needs."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# CDK encodes numbers as about -1.9e289.
_LARGER_THAN_ANY_VALUE = 1e200

# The Node.js that the set-up chose lies beside the interpreter, whether or not the environment is activated.
os.environ["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"


def pytest_configure(config: pytest.Config) -> None:
    """Snapshots change only by an explicit flag, and never in CI."""
    if os.environ.get("CI") and config.getoption("update_snapshots", default=False):
        raise pytest.UsageError("--snapshot-update is not allowed in CI; update on your machine and commit the result")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names a test by "token" where CDK's text or number for a value of the deployment would differ by process."""
    is_text = isinstance(val, str) and "${Token[" in val
    is_number = isinstance(val, float) and abs(val) > _LARGER_THAN_ANY_VALUE
    return "token" if is_text or is_number else None


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT
