"""The stacks' templates as fixtures."""

import pytest
from aws_cdk import assertions

from tests.stacks.templates import TYPES, templates


@pytest.fixture(scope="session", params=TYPES)
def cluster_template(request: pytest.FixtureRequest) -> assertions.Template:
    """TrainingClusterStack, for each GPU type."""
    return templates(request.param)["TrainingClusterStack"]


@pytest.fixture(scope="session")
def data_template() -> assertions.Template:
    """TrainingDataStack."""
    return templates(TYPES[0])["TrainingDataStack"]
