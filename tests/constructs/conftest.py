"""A cluster and a network that the constructs under test are added to."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk.lambda_layer_kubectl_v35 import KubectlV35Layer

from tests.constructs.site import Site


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
