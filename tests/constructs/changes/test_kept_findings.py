"""A resource or a stack that stays, outside the stack or the app, says what it costs."""

from typing import Any

import pytest

from tests.constructs.changes.test_findings import Cluster, findings, lustre, resource
from training_cluster.account.replacement_checks import stays_outside
from training_cluster.changes.planned_stack import PlannedStack
from training_cluster.changes.stack_rules import stacks_leave_the_app
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


@pytest.mark.parametrize(
    ("kind", "price"),
    [
        ("AWS::EFS::FileSystem", " (1.5 GiB, 0.45 USD a month in us-east-1)"),
        ("AWS::S3::Bucket", ""),
    ],
)
def test_data_that_leaves_the_stack_and_is_retained_is_kept(kind: str, price: str) -> None:
    (kept,) = findings({"Data": resource(kind, {"DeletionPolicy": "Retain"})}, {})
    expected = f"removed; the deployed one is kept, not deleted: it stays outside the stack, and is billed{price}"
    assert (kept.outcome, kept.effect) == ("kept", expected)
    # One that is not retained is lost.
    assert [each.outcome for each in findings({"Data": resource(kind)}, {})] == ["lost"]


def test_a_stack_that_the_app_has_no_longer_stays() -> None:
    outputs = {name: {"Value": 1, "Export": {"Name": f"Data:{name}"}} for name in ("Bucket", "Key")}
    live = Cluster(importing={"Data:Bucket": ["Cluster", "SageMaker"], "Data:Key": ["SageMaker"]})

    def left(app: frozenset[str] | None) -> list[str]:
        template = {"Outputs": outputs}
        stack = PlannedStack(name="Data", deployed=None, old=template, new=template, app=app)
        return [f"{each.outcome} {each.subject}: {each.remedy}" for each in stacks_leave_the_app(stack, live)]

    delete = "if the app had it, delete it: 'aws cloudformation delete-stack --stack-name SageMaker'"
    assert left(frozenset({"Data", "Cluster"})) == [f"kept stack SageMaker: {delete}"]
    assert left(frozenset({"Data", "Cluster", "SageMaker"})) == []
    assert left(None) == []
