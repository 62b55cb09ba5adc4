import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.stacks.templates import SCENARIOS, stable, templates


@pytest.fixture
def json_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """One JSON file a template, which a reviewer can read and diff."""
    return snapshot.use_extension(JSONSnapshotExtension)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_cluster_stack_is_as_reviewed(scenario: str, json_snapshot: SnapshotAssertion) -> None:
    assert stable(templates(scenario)["TrainingClusterStack"].to_json()) == json_snapshot


def test_the_data_stack_is_as_reviewed(json_snapshot: SnapshotAssertion) -> None:
    assert stable(templates("mixed-scaled-to-zero")["TrainingDataStack"].to_json()) == json_snapshot
