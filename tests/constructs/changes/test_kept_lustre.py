"""A replaced file system that stays outside the stack says what it costs."""

from typing import Any

import pytest

from tests.constructs.changes.test_findings import findings, lustre
from training_cluster.account.replacement_checks import stays_outside
from training_cluster.changes.template_cost import template_cost
from training_workloads.catalog.provisioned_storage import LustreStorage


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        (1200, "billed (0.24 USD per hour in us-east-1) until 'aws fsx delete-file-system --file-system-id Lustre'"),
        ({"Ref": "Size"}, "billed (the catalog has no price of it) until"),
    ],
)
def test_a_kept_file_system_has_its_price(capacity: Any, words: str) -> None:
    old = lustre(capacity, DeploymentType="PERSISTENT_2", PerUnitStorageThroughput=125)
    new = lustre(1200, DeploymentType="SCRATCH_2") | {"UpdateReplacePolicy": "Retain"}
    (kept,) = findings({"Lustre": old}, {"Lustre": new})
    assert kept.outcome == "kept"
    assert words in kept.effect
    # Nor does such a size stop the price of the rest.
    template = {"Resources": {"Lustre": old, "Cluster": {"Type": "AWS::EKS::Cluster", "Properties": {}}}}
    assert template_cost(template) is not None


def test_a_class_without_a_price_says_so() -> None:
    storage = LustreStorage(gib=1200, deployment_type="PERSISTENT_2", mbps_per_tib=500)
    assert "billed (the catalog has no price of it) until" in stays_outside("fs-1", storage)
