"""What a node group says of a type that EC2 does not offer where the node group is."""

import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from tests.constructs.instance_types import RETIRED
from tests.constructs.site import properties
from training_cluster import GpuNodeGroup

CONSEQUENCE = (
    "so the node group ends in CREATE_FAILED, even with 0 nodes, after the control plane and Lustre were created, and "
    "the deployment is rolled back"
)


def node_group(instance_type: str, *, region: str | None = None, zone: str | None = None) -> GpuNodeGroup:
    """Return a node group in a subnet that is imported, without its zone where none is given."""
    stack = cdk.Stack(cdk.App(), "Stack", env=cdk.Environment(region=region) if region else None)
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["dummy1a"],
        private_subnet_ids=["subnet-0123456789abcdef0"],
    )
    given: dict[str, Any] = {"availability_zone": zone} if zone else {}
    subnet = ec2.Subnet.from_subnet_attributes(stack, "Subnet", subnet_id="subnet-0123456789abcdef0", **given)
    cluster = eks.Cluster.from_cluster_attributes(
        stack, "Cluster", cluster_name="research", cluster_security_group_id="sg-0123456789abcdef0", vpc=vpc
    )
    return GpuNodeGroup(stack, "Gpu", cluster=cluster, instance_type=instance_type, subnet=subnet)


def warnings(group: GpuNodeGroup) -> list[str]:
    """Return the warnings about the offer, with a word for the day on which the offers were recorded."""
    annotations = assertions.Annotations.from_stack(cdk.Stack.of(group))
    found = annotations.find_warning(f"/{group.node.path}", assertions.Match.any_value())
    ends = " [ack: cdk-training-cluster:instance-type-not-offered]"
    said = [str(each.entry.data) for each in found]
    assert all(each.endswith(ends) for each in said)
    return [re.sub(r"in (\S+) on \d{4}-\d\d-\d\d", r"in \1 on <day>", each.removesuffix(ends)) for each in said]


@pytest.mark.parametrize("region", [None, "us-east-1"])
def test_a_retired_type_is_warned_of_in_every_region_and_still_synthesized(region: str | None) -> None:
    group = node_group(RETIRED, region=region)
    assert warnings(group) == [
        f"'instance_type' is '{RETIRED}', but AWS retired it on 2025-12-20 "
        "(https://github.com/zalando-incubator/kubernetes-on-aws/pull/8685) and EC2 offers it in no region, "
        f"{CONSEQUENCE}; choose p3dn.24xlarge or p4d.24xlarge"
    ]
    template = assertions.Template.from_stack(cdk.Stack.of(group))
    template.resource_count_is("AWS::EKS::Nodegroup", 1)
    (launched,) = properties(template, "AWS::EC2::LaunchTemplate")
    assert launched["LaunchTemplateData"]["InstanceType"] == RETIRED


@pytest.mark.parametrize("place", [{"region": "eu-central-1"}, {"zone": "eu-central-1b"}])
def test_warns_where_the_region_of_the_stack_or_of_the_subnet_lacks_the_type(place: dict[str, str]) -> None:
    group = node_group("p3dn.24xlarge", **place)
    assert warnings(group) == [
        f"'instance_type' is 'p3dn.24xlarge', but EC2 did not offer it in eu-central-1 on <day>, {CONSEQUENCE}; choose "
        "another type, or a region that offers it (ap-northeast-1, eu-west-1, us-east-1, us-west-2)"
    ]
    assertions.Template.from_stack(cdk.Stack.of(group)).resource_count_is("AWS::EKS::Nodegroup", 1)


def test_without_another_region_that_of_the_credentials_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-central-1")
    (line,) = warnings(node_group("p3dn.24xlarge"))
    assert "but EC2 did not offer it in eu-central-1 on <day>" in line
    assert warnings(node_group("p3dn.24xlarge", zone="us-west-2d")) == []


@pytest.mark.parametrize(
    "place",
    [
        {"region": "eu-west-1"},
        {"zone": "us-west-2d"},
        # Regions that are not recorded.
        {"region": "cn-north-1"},
        {"zone": "us-gov-west-1a"},
        # Not known before the deployment.
        {},
        {"zone": cdk.Token.as_string({"Ref": "Zone"})},
        {"region": cdk.Token.as_string({"Ref": "Region"})},
    ],
)
def test_says_nothing_where_the_type_is_offered_or_the_region_is_not_known(
    place: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CDK_DEFAULT_REGION", raising=False)
    assert warnings(node_group("p3dn.24xlarge", **place)) == []
