"""Constructs in a wrong place, and resources of another one: CDK would end each with a traceback of JavaScript."""

from collections.abc import Callable

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from training_cluster import (
    EfaDevicePlugin,
    GpuNodeGroup,
    TrainingBucket,
    TrainingCluster,
    TrainingKey,
    TrainingNetwork,
)
from training_workloads import InputError

OREGON = cdk.Environment(account="111122223333", region="us-west-2")
VIRGINIA = cdk.Environment(account="111122223333", region="us-east-1")
OTHER_ACCOUNT = cdk.Environment(account="444455556666", region="us-west-2")
OF_ANOTHER_REGION = (
    "its stack Other is in account 111122223333, region us-east-1, and Stack in account 111122223333, region "
    "us-west-2; create both stacks with the same env=cdk.Environment(account=..., region=...), or import the resource"
)
GPU = "p4d.24xlarge"


def rejection(wrong: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        wrong()
    return str(caught.value)


def cluster_in(stack: cdk.Stack) -> TrainingCluster:
    return TrainingCluster(stack, "Cluster", vpc=TrainingNetwork(stack, "Network"))


def stacks(
    env: cdk.Environment | None = None, other: cdk.Environment | None = None, app: cdk.App | None = None
) -> tuple[cdk.Stack, cdk.Stack]:
    """Return two stacks of one app."""
    app = app or cdk.App()
    return cdk.Stack(app, "Stack", env=env), cdk.Stack(app, "Other", env=other)


def test_an_id_that_is_taken() -> None:
    stack, _ = stacks()
    cluster, bucket = cluster_in(stack), TrainingBucket(stack, "Bucket")
    assert rejection(lambda: TrainingNetwork(stack, "Network")) == (
        "'id' is 'Network', but Stack has a construct of this id; give another id"
    )
    cluster.add_gpu_node_group("gpu", instance_type=GPU)
    assert rejection(lambda: cluster.add_gpu_node_group("gpu", instance_type=GPU)) == (
        "'id' is 'gpu', but Stack/Cluster/NodeGroups has a construct of this id; give another id"
    )
    cluster.add_lustre("Lustre", bucket=bucket)
    assert "'id' is 'Lustre'" in rejection(lambda: cluster.add_lustre("Lustre", bucket=bucket, claim="other"))
    assert rejection(lambda: TrainingBucket(stack, "")) == (
        "'id' is ''; give text, which is the construct's name in its scope"
    )


@pytest.mark.parametrize("scope", [cdk.App(), cdk.Stage(cdk.App(), "Stage")], ids=["app", "stage"])
@pytest.mark.parametrize("construct", [TrainingNetwork, TrainingBucket, TrainingKey])
def test_a_scope_outside_a_stack(construct: Callable[..., object], scope: cdk.Stage) -> None:
    assert rejection(lambda: construct(scope, "Name")).endswith(
        "but resources are in a stack; give a stack, or a construct in one"
    )


def test_a_stack_in_a_stage_is_right() -> None:
    stack = cdk.Stack(cdk.Stage(cdk.App(), "Stage"), "Stack")
    cluster_in(stack).add_gpu_node_group("gpu", instance_type=GPU)


def test_a_part_in_the_stack_of_the_vpc() -> None:
    app = cdk.App()
    stack, other = stacks(app=app)
    cluster = TrainingCluster(other, "Cluster", vpc=TrainingNetwork(stack, "Network"))
    assert rejection(lambda: GpuNodeGroup(stack, "gpu", cluster=cluster, instance_type=GPU)) == (
        "'cluster' is 'Other/Cluster', but its stack Other waits for Stack (Other/Cluster needs Stack/Network); each "
        "would wait for the other; define Stack/gpu in the stack Other, or Stack/Network in a separate stack"
    )
    assert "waits for Stack" in rejection(lambda: EfaDevicePlugin(stack, "Plugin", cluster=cluster))
    # In a third stack each has its place.
    GpuNodeGroup(cdk.Stack(app, "Third"), "gpu", cluster=cluster, instance_type=GPU)


def test_resources_of_another_region_or_account() -> None:
    app = cdk.App()
    stack, other = stacks(OREGON, VIRGINIA, app)
    bucket, key, network = TrainingBucket(other, "Bucket"), TrainingKey(other, "Key"), TrainingNetwork(other, "Network")
    assert rejection(lambda: TrainingCluster(stack, "Other", vpc=network)) == (
        f"'vpc' is 'Other/Network', but {OF_ANOTHER_REGION}"
    )
    cluster = cluster_in(stack)
    for name, wrong in (
        ("bucket", lambda: cluster.add_lustre("Lustre", bucket=bucket)),
        ("bucket", lambda: cluster.add_job_identity("trainer", bucket=bucket, prefix="runs")),
    ):
        assert rejection(wrong) == f"'{name}' is 'Other/Bucket', but {OF_ANOTHER_REGION}"
    assert "it is of us-east-1, and the stack of us-west-2" in rejection(
        lambda: GpuNodeGroup(stack, "gpu", cluster=cluster, instance_type=GPU, encryption_key=key)
    )
    assert rejection(lambda: GpuNodeGroup(other, "gpu", cluster=cluster, instance_type=GPU)).startswith(
        "'cluster' is 'Stack/Cluster', but its stack Stack is in account 111122223333, region us-west-2, and Other in"
    )
    foreign = TrainingKey(cdk.Stack(app, "Foreign", env=OTHER_ACCOUNT), "Key")
    assert "account 444455556666" in rejection(lambda: TrainingBucket(stack, "Bucket", encryption_key=foreign))


def test_a_stack_without_an_account_beside_one_with() -> None:
    stack, other = stacks(OREGON)
    bucket = TrainingBucket(other, "Bucket")
    assert "its stack Other is in account of the deployment" in rejection(
        lambda: cluster_in(stack).add_lustre("Lustre", bucket=bucket)
    )


def test_a_bucket_with_a_name_is_used_from_another_account() -> None:
    stack, other = stacks(OREGON, OTHER_ACCOUNT)
    bucket = s3.Bucket(other, "Bucket", bucket_name="shared-data")
    cluster_in(stack).add_job_identity("trainer", bucket=bucket, prefix="runs")


def test_an_imported_key_of_another_region() -> None:
    stack, _ = stacks(OREGON)
    key = kms.Key.from_key_arn(stack, "Key", "arn:aws:kms:eu-west-1:111122223333:key/1234abcd")
    assert rejection(lambda: TrainingBucket(stack, "Bucket", encryption_key=key)) == (
        "'encryption_key' is 'Stack/Key', but it is of eu-west-1, and the stack of us-west-2; give a key of the "
        "region, or a replica of a multi-Region key"
    )


def test_a_cluster_of_another_app() -> None:
    (stack, _), (elsewhere, _) = stacks(), stacks()
    cluster = cluster_in(stack)
    assert rejection(lambda: GpuNodeGroup(elsewhere, "gpu", cluster=cluster, instance_type=GPU)) == (
        "'cluster' is 'Stack/Cluster', but it is of another app or stage; define both in one app and stage, or import "
        "the resource"
    )


def warnings(stack: cdk.Stack, text: str) -> list[str]:
    found = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.string_like_regexp(text))
    return [each.id for each in found]


def test_warns_of_a_bucket_that_was_imported_without_its_key() -> None:
    stack, _ = stacks()
    cluster = cluster_in(stack)
    plain = s3.Bucket.from_bucket_name(stack, "Plain", "data")
    key = kms.Key(stack, "Key")
    whole = s3.Bucket.from_bucket_attributes(stack, "Whole", bucket_name="data", encryption_key=key)
    cluster.add_lustre("Lustre", bucket=plain)
    cluster.add_job_identity("one", bucket=plain, prefix="runs")
    cluster.add_job_identity("two", bucket=plain, prefix="runs", encryption_key=key)
    cluster.add_job_identity("three", bucket=whole, prefix="runs")
    cluster.add_job_identity("four", bucket=TrainingBucket(stack, "Bucket"), prefix="runs")
    assert warnings(stack, "imported without a key") == [
        "/Stack/Cluster/Lustre",
        "/Stack/Cluster/ServiceAccounts/one",
    ]


def test_warns_of_a_queue_without_groups_at_the_end() -> None:
    (stack, _), (other, _) = stacks(), stacks()
    cluster_in(stack).add_job_queue("Queue")
    assert warnings(stack, "counts no GPU node group") == ["/Stack/Cluster/Queue"]
    cluster = cluster_in(other)
    cluster.add_job_queue("Queue")
    cluster.add_gpu_node_group("gpu", instance_type=GPU)
    assert warnings(other, "counts no GPU node group") == []
