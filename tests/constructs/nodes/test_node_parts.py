from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2

from tests.constructs.instance_types import DISKLESS
from tests.constructs.nodes.test_gpu_node_group import launch_template, rejection, template
from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, NodeRepair, NodeRepairOverride, TrainingCluster


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
    assert sorted(map(len, node_groups)) == [0, 4]
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


def test_no_update_is_forced_upon_a_pod(site: Site) -> None:
    TrainingCluster(site.stack, "Training", vpc=site.vpc)
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, instance_type="p3dn.24xlarge")
    groups = properties(site.template(), "AWS::EKS::Nodegroup")
    assert [group["ForceUpdateEnabled"] for group in groups] == [False, False]


def test_one_node_is_repaired_at_a_time_and_none_for_a_fault_of_a_program(site: Site) -> None:
    (group,) = properties(template(site, instance_type="p3dn.24xlarge"), "AWS::EKS::Nodegroup")
    fault = {
        "NodeMonitoringCondition": "AcceleratedHardwareReady",
        "MinRepairWaitTimeMins": 10,
        "RepairAction": "NoAction",
    }
    assert group["NodeRepairConfig"] == {
        "Enabled": True,
        "MaxParallelNodesRepairedCount": 1,
        "NodeRepairConfigOverrides": [
            fault | {"NodeUnhealthyReason": "NvidiaXID13Error"},
            fault | {"NodeUnhealthyReason": "NvidiaXID31Error"},
        ],
    }


def test_the_limits_of_repair_can_be_given(site: Site) -> None:
    override = NodeRepairOverride(
        condition="AcceleratedHardwareReady", reason="NvidiaXID64Error", action="Replace", min_wait_minutes=5
    )
    repair = NodeRepair(
        max_parallel_nodes_repaired_percentage=50, max_unhealthy_node_threshold_count=3, overrides=(override,)
    )
    (group,) = properties(template(site, instance_type="p3dn.24xlarge", node_repair=repair), "AWS::EKS::Nodegroup")
    assert group["NodeRepairConfig"] == {
        "Enabled": True,
        "MaxParallelNodesRepairedPercentage": 50,
        "MaxUnhealthyNodeThresholdCount": 3,
        "NodeRepairConfigOverrides": [
            {
                "NodeMonitoringCondition": "AcceleratedHardwareReady",
                "NodeUnhealthyReason": "NvidiaXID64Error",
                "RepairAction": "Replace",
                "MinRepairWaitTimeMins": 5,
            }
        ],
    }
    assert rejection(site, node_repair=True).startswith("'node_repair' is True; give its keys, such as")


def ssm_policies(made: assertions.Template) -> list[str]:
    roles = str(properties(made, "AWS::IAM::Role"))
    return [policy for policy in ("AmazonSSMManagedInstanceCore",) if policy in roles]


def test_a_shell_by_ssm_is_an_option(site: Site) -> None:
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, instance_type="p3dn.24xlarge", ssm=True)
    assert ssm_policies(site.template()) == ["AmazonSSMManagedInstanceCore"]


def test_without_the_option_nodes_have_no_policy_of_ssm(site: Site) -> None:
    assert ssm_policies(template(site, instance_type="p3dn.24xlarge")) == []


@pytest.mark.parametrize(
    ("given", "throughput", "iops"),
    [
        # Images are on the root volume.
        ({"instance_type": DISKLESS}, 600, 3000),
        # They are on local disks.
        ({"instance_type": "p4d.24xlarge"}, 125, 3000),
        ({"instance_type": "p3dn.24xlarge", "root_volume_mib_per_second": 1000}, 1000, 4000),
        ({"instance_type": "p4d.24xlarge", "root_volume_mib_per_second": 750}, 750, 3000),
        ({"instance_type": "g5.xlarge", "root_volume_mib_per_second": 1000, "root_volume_iops": 16000}, 1000, 16000),
    ],
)
def test_the_root_volume_is_as_fast_as_images_need(
    given: dict[str, Any], throughput: int, iops: int, site: Site
) -> None:
    (disk,) = launch_template(template(site, **given))["BlockDeviceMappings"]
    assert (disk["Ebs"]["Throughput"], disk["Ebs"]["Iops"]) == (throughput, iops)


def test_images_are_pulled_in_parallel_by_option(site: Site) -> None:
    data = launch_template(template(site, instance_type="p4d.24xlarge", fast_image_pull=True))
    assert "featureGates:\n    FastImagePull: true" in data["UserData"]["Fn::Base64"]
