import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.stacks.templates import TYPES, stable, templates


@pytest.fixture
def json_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """One JSON file a template, which a reviewer can read and diff."""
    return snapshot.use_extension(JSONSnapshotExtension)


@pytest.mark.parametrize("instance_type", TYPES)
def test_the_cluster_stack_is_as_reviewed(instance_type: str, json_snapshot: SnapshotAssertion) -> None:
    assert stable(templates(instance_type)["TrainingClusterStack"].to_json()) == json_snapshot


def test_the_data_stack_is_as_reviewed(json_snapshot: SnapshotAssertion) -> None:
    assert stable(templates(TYPES[0])["TrainingDataStack"].to_json()) == json_snapshot
