"""Fixtures and settings of every test of the CDK side."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# CDK encodes numbers as about -1.9e289.
_LARGER_THAN_ANY_VALUE = 1e200

# The set-up links Node.js beside the interpreter; the environment need not be activated.
os.environ["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"

# A background job of a shell ignores SIGINT, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# CDK writes each synthesized app into the folder for temporary files and keeps it: 57 MB with kubectl, 15 GB in a run
# of all tests. Its Node.js reads TMPDIR; mkdtemp has made Python remember its own folder.
_CDK_FOLDER = tempfile.mkdtemp(prefix="cdk-tests-")
os.environ["TMPDIR"] = _CDK_FOLDER


def pytest_unconfigure() -> None:
    """Remove what CDK synthesized."""
    shutil.rmtree(_CDK_FOLDER, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Reject --snapshot-update in CI."""
    if os.environ.get("CI") and config.getoption("update_snapshots", default=False):
        raise pytest.UsageError("--snapshot-update is not allowed in CI; update on your machine and commit the result")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name a parameter "token" if it is CDK's placeholder for a value of the deployment, which differs by process."""
    is_text = isinstance(val, str) and "${Token[" in val
    is_number = isinstance(val, float) and abs(val) > _LARGER_THAN_ANY_VALUE
    return "token" if is_text or is_number else None


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def user_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a virtual environment with the wheel, beside the packages of this environment: tests need no network."""
    environment = tmp_path_factory.mktemp("user") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(environment / "bin/python"),
        "install",
        *options,
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    (packages / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return environment
