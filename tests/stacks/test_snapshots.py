"""One whole template of each stack; what the other scenarios change is asserted by property."""

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from tests.stacks.templates import stable, templates


@pytest.mark.parametrize("stack", ["SageMakerTrainingStack", "TrainingClusterStack", "TrainingDataStack"])
def test_the_stack_is_as_reviewed(stack: str, snapshot: SnapshotAssertion) -> None:
    template = templates("p4d-reservation")[stack]
    assert stable(template.to_json()) == snapshot.use_extension(JSONSnapshotExtension)
