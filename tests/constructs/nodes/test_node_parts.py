from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.instance_types import DISKLESS
from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, TrainingCluster


def tags(found: dict[str, Any]) -> dict[str, Any]:
    """Return the tags of a launch template, which are the same for all that it starts."""
    kinds = found["LaunchTemplateData"]["TagSpecifications"]
    assert [kind["ResourceType"] for kind in kinds] == ["instance", "volume", "network-interface"]
    assert all(kind["Tags"] == kinds[0]["Tags"] for kind in kinds)
    return {tag["Key"]: tag["Value"] for tag in kinds[0]["Tags"]}


def tagged_stack(**context: Any) -> tuple[cdk.Stack, TrainingCluster]:
    app = cdk.App(context=context)
    stack = cdk.Stack(app, "Stack", tags={"owner": "vision"})
    cluster = TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    group = cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    cdk.Tags.of(group).add("purpose", "training")
    cdk.Tags.of(group).add("k8s.io/cluster-autoscaler/enabled", "true")
    cdk.Tags.of(app).add("cost-center", "42", priority=1000)
    return stack, cluster


@pytest.mark.parametrize("stabilized", [True, False])
def test_instances_volumes_and_interfaces_have_the_tags_of_the_tree(stabilized: bool) -> None:
    stack, cluster = tagged_stack(**{"@aws-cdk/core:aspectStabilization": stabilized})
    made = assertions.Template.from_stack(stack)
    node_groups = [each.get("Tags", {}) for each in properties(made, "AWS::EKS::Nodegroup")]
    assert sorted(map(len, node_groups)) == [0, 5]
    assert all(key.startswith("k8s.io/cluster-autoscaler/") for group in node_groups for key in group)
    system, gpu = sorted(map(tags, properties(made, "AWS::EC2::LaunchTemplate")), key=len)
    name = stack.resolve(cluster.cluster_name)
    assert gpu == {
        "Name": {"Fn::Join": ["", [name, "/gpu"]]},
        "cost-center": "42",
        "owner": "vision",
        "purpose": "training",
        "training-cluster/cluster": name,
        "training-cluster/node-group": "gpu",
    }
    assert system == {
        "Name": {"Fn::Join": ["", [name, "/system"]]},
        "cost-center": "42",
        "owner": "vision",
        "training-cluster/cluster": name,
        "training-cluster/node-group": "system",
    }


STACK_TAGS = assertions.Match.string_like_regexp("the stack itself has tags")


def test_tags_of_the_stack_are_warned_of_because_cloudformation_puts_them_on_the_node_group() -> None:
    stack, _ = tagged_stack(**{"@aws-cdk/core:explicitStackTags": True})
    found = assertions.Annotations.from_stack(stack).find_warning("*", STACK_TAGS)
    assert len(found) == 2
    assert all(str(each.entry.data).startswith("the stack itself has tags (owner), which") for each in found)


@pytest.mark.parametrize(("explicit", "warnings"), [(True, 0), (False, 2)])
def test_tags_of_the_app_are_tags_of_the_stack_without_the_feature_flag(explicit: bool, warnings: int) -> None:
    app = cdk.App(context={"@aws-cdk/core:explicitStackTags": explicit})
    stack = cdk.Stack(app, "Stack")
    cluster = TrainingCluster(stack, "Cluster", vpc=ec2.Vpc(stack, "Vpc", max_azs=2))
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    cdk.Tags.of(app).add("cost-center", "42")
    assert len(assertions.Annotations.from_stack(stack).find_warning("*", STACK_TAGS)) == warnings


def test_the_root_volume_is_as_fast_as_images_need(site: Site) -> None:
    # The options, the throughput in MiB/s, and the IOPS.
    cases: list[tuple[dict[str, Any], int, int]] = [
        # Images are on the root volume.
        ({"instance_type": DISKLESS}, 600, 3000),
        # They are on local disks.
        ({"instance_type": "p4d.24xlarge"}, 125, 3000),
        ({"instance_type": "p3dn.24xlarge", "root_volume_mib_per_second": 1000}, 1000, 4000),
        ({"instance_type": "p4d.24xlarge", "root_volume_mib_per_second": 750}, 750, 3000),
        ({"instance_type": "g5.xlarge", "root_volume_mib_per_second": 1000, "root_volume_iops": 16000}, 1000, 16000),
    ]
    groups = [GpuNodeGroup(site.stack, f"Gpu{n}", cluster=site.cluster, **given) for n, (given, *_) in enumerate(cases)]
    for group, (_, throughput, iops) in zip(groups, cases, strict=True):
        assert group.launch_template
        (disk,) = site.stack.resolve(group.launch_template.launch_template_data)["blockDeviceMappings"]
        assert (disk["ebs"]["throughput"], disk["ebs"]["iops"]) == (throughput, iops)
