from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks

from tests.constructs.site import Site
from training_cluster import GpuNodeGroup, GpuNodeGroupSpec
from training_workloads import InputError


def refusal(site: Site, **given: Any) -> str:
    spec = GpuNodeGroupSpec(instance_type="p4d.24xlarge")
    where = {"cluster": site.cluster, "vpc": site.vpc, "subnet": site.subnet, "spec": spec}
    with pytest.raises(InputError) as caught:
        GpuNodeGroup(site.stack, f"Gpu{len(site.stack.node.children)}", **where | given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("p4d.24xlarge", "'p4d.24xlarge'"),
        ({"instance_type": "p4d.24xlarge"}, "{'instance_type': 'p4d.24xlarge'}"),
        (None, "None"),
    ],
)
def test_a_spec_of_another_type(spec: Any, told: str, site: Site) -> None:
    assert refusal(site, spec=spec) == f"'spec' is {told}; give GpuNodeGroupSpec(...)"


def test_a_cluster_that_nodes_cannot_join(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    assert refusal(site, cluster=bare) == (
        "'cluster' was imported without its security group; use ExistingCluster and give .cluster of it"
    )
    assert refusal(site, cluster=site) == "'cluster' is a Site; give .cluster of it"


def test_a_subnet_that_is_public(site: Site) -> None:
    message = "'subnet' is a public subnet; give a private one, such as vpc.private_subnets[0]"
    assert refusal(site, subnet=site.vpc.public_subnets[0]) == message
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack,
        "Imported",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a"],
        public_subnet_ids=["subnet-0123456789abcdef0"],
    )
    by_id = ec2.Subnet.from_subnet_id(site.stack, "Public", "subnet-0123456789abcdef0")
    assert refusal(site, vpc=vpc, subnet=by_id) == message


def test_a_subnet_by_its_id_alone_is_taken(site: Site) -> None:
    subnet = ec2.Subnet.from_subnet_id(site.stack, "Private", "subnet-0123456789abcdef0")
    spec = GpuNodeGroupSpec(instance_type="p4d.24xlarge", availability_zone="us-east-1b")
    GpuNodeGroup(site.stack, "Gpu", cluster=site.cluster, vpc=site.vpc, subnet=subnet, spec=spec)


def test_a_zone_that_is_not_the_subnets(site: Site) -> None:
    subnet = ec2.Subnet.from_subnet_attributes(
        site.stack, "Private", subnet_id="subnet-0123456789abcdef0", availability_zone="us-east-1a"
    )
    spec = GpuNodeGroupSpec(instance_type="p4d.24xlarge", availability_zone="us-east-1b")
    assert refusal(site, subnet=subnet, spec=spec) == (
        "'availability_zone' is 'us-east-1b', but the subnet is in us-east-1a; give a subnet of us-east-1b, or leave "
        "availability_zone out"
    )


def test_what_is_no_vpc_and_no_subnet(site: Site) -> None:
    assert refusal(site, vpc=site) == "'vpc' is a Site; give .vpc of it"
    assert refusal(site, subnet="subnet-1") == "'subnet' is 'subnet-1'; give a subnet, such as vpc.private_subnets[0]"
