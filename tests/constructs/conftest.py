"""A cluster and a network that the constructs under test are added to."""

from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer


@dataclass(frozen=True)
class Site:
    """Somebody else's stack with a VPC and a cluster of its own."""

    stack: cdk.Stack
    vpc: ec2.Vpc
    cluster: Any

    @property
    def subnet(self) -> ec2.ISubnet:
        """A private subnet."""
        return self.vpc.private_subnets[0]

    def template(self) -> assertions.Template:
        """What the stack synthesizes to."""
        return assertions.Template.from_stack(self.stack)


@pytest.fixture
def site() -> Site:
    stack = cdk.Stack(cdk.App(), "Site")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    cluster = eks.Cluster(
        stack,
        "Cluster",
        version=eks.KubernetesVersion.V1_35,
        vpc=vpc,
        default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
        default_capacity=0,
        kubectl_provider_options=eks.KubectlProviderOptions(kubectl_layer=KubectlV35Layer(stack, "Layer")),
    )
    return Site(stack, vpc, cluster)


def properties(template: assertions.Template, kind: str) -> list[dict[str, Any]]:
    """Properties of every resource of a type."""
    return [resource["Properties"] for resource in template.find_resources(kind).values()]
