"""The templates of the stacks as fixtures."""

import pytest
from aws_cdk import assertions

from tests.stacks.templates import SCENARIOS, templates


@pytest.fixture(scope="session", params=SCENARIOS)
def cluster_template(request: pytest.FixtureRequest) -> assertions.Template:
    """TrainingClusterStack, for each scenario."""
    return templates(request.param)["TrainingClusterStack"]


@pytest.fixture(scope="session")
def data_template() -> assertions.Template:
    """TrainingDataStack."""
    return templates("mixed-scaled-to-zero")["TrainingDataStack"]
