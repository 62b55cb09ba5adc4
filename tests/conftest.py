"""Fixtures and settings of every test of the CDK side."""

import gc
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests import temporary_files

ROOT = Path(__file__).parent.parent

# CDK encodes numbers as about -1.9e289.
_LARGER_THAN_ANY_VALUE = 1e200

# The set-up links Node.js beside the interpreter; the environment need not be activated.
os.environ["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"

# A background job of a shell ignores SIGINT, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ

# Of pytest, of tests and of every program that they start; pytest-xdist starts its workers with these variables.
if not _IS_WORKER:
    _TEMPORARY = temporary_files.begin()
    os.environ["TMPDIR"] = tempfile.tempdir = str(_TEMPORARY)
    # As if it were outside of the clone: git and pytest would otherwise find those of this repository above it.
    os.environ["GIT_CEILING_DIRECTORIES"] = str(temporary_files.FOLDERS)
    (_TEMPORARY / "pytest.ini").touch()
    # Otherwise CDK copies kubectl, 57 MB, into the folder of each synthesized app: 4 GB in tests/constructs alone.
    os.environ["CDK_CONTEXT_JSON"] = json.dumps({"aws:cdk:disable-asset-staging": True})
    # CDK's validation of templates takes four seconds of each process; `make scan` has it, for every configuration.
    os.environ["CDK_VALIDATION"] = "false"


def pytest_collection_finish() -> None:
    """Exempt modules and tests from the search for garbage: they stay until the end."""
    gc.freeze()


def pytest_unconfigure() -> None:
    """Remove all temporary files."""
    if not _IS_WORKER:
        temporary_files.end(_TEMPORARY)


def pytest_configure(config: pytest.Config) -> None:
    """Reject --snapshot-update in CI."""
    if os.environ.get("CI") and config.getoption("update_snapshots", default=False):
        raise pytest.UsageError("--snapshot-update is not allowed in CI; update on your machine and commit the result")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of the stacks to one worker, which synthesizes each scenario once for them."""
    # Here: PyTorch's environment has no pytest-xdist.
    from xdist.scheduler import LoadFileScheduling

    if config.getoption("dist") != "loadfile":
        return None
    scheduling = LoadFileScheduling(config, log)
    file_of = scheduling._split_scope
    scheduling._split_scope = lambda test: "tests/stacks" if test.startswith("tests/stacks/") else file_of(test)
    return scheduling


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
