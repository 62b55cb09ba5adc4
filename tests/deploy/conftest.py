"""The emulator, and one account of it for each configuration."""

from collections.abc import Iterator

import pytest

from tests.deploy.deployment import CONFIGURATIONS, Deployment
from tests.deploy.emulator import PYTHON, Emulator


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    """Start the emulator, and stop it in any case."""
    assert PYTHON.exists(), f"{PYTHON} is missing; run 'make test-long SUITE=deploy', which installs it"
    emulator = Emulator(tmp_path_factory.mktemp("emulator"))
    try:
        emulator.start()
        yield emulator
    finally:
        emulator.stop()


@pytest.fixture(scope="module", params=list(CONFIGURATIONS))
def deployment(
    request: pytest.FixtureRequest, emulator: Emulator, tmp_path_factory: pytest.TempPathFactory
) -> Deployment:
    """Return one configuration in a separate account, bootstrapped; the tests run in their order in the file."""
    emulator.take_applied()
    return Deployment(request.param, emulator, tmp_path_factory.mktemp(request.param))
