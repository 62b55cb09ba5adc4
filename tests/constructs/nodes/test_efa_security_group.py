from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from tests.constructs.nodes.test_gpu_node_group import rejection, template
from tests.constructs.site import Site, properties
from training_cluster import GpuNodeGroup, TrainingCluster


def efa_groups(made: assertions.Template) -> list[Any]:
    """Return the EFA group of every interface of every launch template, the cluster's own group left out."""
    templates = properties(made, "AWS::EC2::LaunchTemplate")
    interfaces = [each for found in templates for each in found["LaunchTemplateData"].get("NetworkInterfaces", [])]
    return [interface["Groups"][1] for interface in interfaces if len(interface["Groups"]) > 1]


def test_two_node_groups_share_one_efa_group(site: Site) -> None:
    for id, reservation in (("BlockA", "cr-0123456789abcdef0"), ("BlockB", "cr-0123456789abcdef1")):
        GpuNodeGroup(
            site.stack, id, cluster=site.cluster, instance_type="p4d.24xlarge", capacity_reservation_id=reservation
        )
    made = site.template()
    (from_itself,) = [r for r in properties(made, "AWS::EC2::SecurityGroupIngress") if r["IpProtocol"] == "-1"]
    (to_itself,) = properties(made, "AWS::EC2::SecurityGroupEgress")
    groups = efa_groups(made)
    assert len(groups) == 10
    assert all(group == groups[0] for group in groups)
    assert from_itself["GroupId"] == from_itself["SourceSecurityGroupId"] == groups[0]
    assert to_itself["GroupId"] == to_itself["DestinationSecurityGroupId"] == groups[0]


def test_node_groups_of_a_cluster_that_is_imported_twice_share_one_efa_group(site: Site) -> None:
    attributes: dict[str, Any] = {
        "cluster_name": "research",
        "cluster_security_group_id": "sg-0123456789abcdef0",
        "vpc": site.vpc,
    }
    plain = eks.Cluster.from_cluster_attributes(site.stack, "Plain", **attributes)
    ours = TrainingCluster.from_cluster_attributes(site.stack, "Ours", **attributes)
    GpuNodeGroup(site.stack, "A", cluster=plain, instance_type="p4d.24xlarge")
    ours.add_gpu_node_group("B", instance_type="p4d.24xlarge")
    made = site.template()
    groups = efa_groups(made)
    assert len(groups) == 10
    assert all(group == groups[0] for group in groups)
    made.resource_count_is("AWS::EC2::SecurityGroupEgress", 1)


def test_an_efa_group_of_another_stack_is_used(site: Site) -> None:
    given = ec2.SecurityGroup.from_security_group_id(site.stack, "Efa", "sg-0123456789abcdef1")
    made = template(site, instance_type="p4d.24xlarge", efa_security_group=given)
    assert set(efa_groups(made)) == {"sg-0123456789abcdef1"}
    made.resource_count_is("AWS::EC2::SecurityGroupEgress", 0)
    message = rejection(site, efa_security_group=given, instance_type="g5.xlarge")
    assert message.endswith(", but these nodes of g5.xlarge have no EFA; omit it")
    assert rejection(site, efa_security_group="sg-1").startswith(
        "'efa_security_group' is 'sg-1'; give a security group"
    )


@pytest.mark.parametrize("shared", [False, True])
def test_a_second_stack_that_imports_the_cluster_is_warned_of_another_group(shared: bool) -> None:
    app = cdk.App()
    groups: list[GpuNodeGroup] = []
    for id in ("First", "Second"):
        stack = cdk.Stack(app, id)
        cluster = TrainingCluster.from_cluster_attributes(
            stack,
            "Research",
            cluster_name="research",
            cluster_security_group_id="sg-0123456789abcdef0",
            vpc=ec2.Vpc(stack, "Vpc", max_azs=2, restrict_default_security_group=False),
        )
        given = groups[0].efa_security_group if shared and groups else None
        groups.append(
            cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", efa_security_group=given),
        )
        if groups[1:]:
            found = assertions.Annotations.from_stack(stack).find_warning("*", assertions.Match.any_value())
            warnings = [str(each.entry.data) for each in found if "two-efa-groups" in str(each.entry.data)]
            assert len(warnings) == (0 if shared else 1)
            assert all("efa_security_group=first.efa_security_group" in text for text in warnings)
