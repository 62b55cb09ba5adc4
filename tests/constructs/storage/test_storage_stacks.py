"""File systems and their volumes in different stacks: no cycle, and each rule where it can be."""

import re
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site
from training_cluster import (
    ClusterMonitoring,
    ElasticFileSystem,
    ElasticVolume,
    LustreFileSystem,
    LustreVolume,
    TrainingBucket,
    TrainingCluster,
    TrainingKey,
    TrainingNetwork,
)
from training_workloads import InputError

INGRESS, EGRESS = "AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"


@pytest.fixture
def other(site: Site) -> cdk.Stack:
    """A second stack in the app of the cluster."""
    return cdk.Stack(cdk.App.of(site.stack), "Storage")


def lustre(site: Site, stack: cdk.Stack, **options: Any) -> LustreFileSystem:
    bucket = TrainingBucket(stack, "Bucket", encryption_key=TrainingKey(stack, "Key"))
    return LustreFileSystem(stack, "Lustre", vpc=site.vpc, subnet=site.subnet, bucket=bucket, **options)


def count(stack: cdk.Stack, kind: str) -> int:
    return len(assertions.Template.from_stack(stack).find_resources(kind))


def vpc_stack() -> tuple[cdk.App, Site]:
    """A stack with a VPC alone, below storage and cluster."""
    app = cdk.App()
    stack = cdk.Stack(app, "Network")
    return app, Site(stack, cdk.aws_ec2.Vpc(stack, "Vpc", max_azs=2), None)


@pytest.mark.parametrize("efa", [False, True])
def test_storage_below_the_cluster(efa: bool) -> None:
    app, site = vpc_stack()
    storage, cluster_stack = cdk.Stack(app, "Storage"), cdk.Stack(app, "Cluster")
    options: dict[str, Any] = {"capacity_gib": 4800, "throughput_mbps_per_tib": 1000, "efa": True} if efa else {}
    files, shared = lustre(site, storage, **options), ElasticFileSystem(storage, "Efs", vpc=site.vpc)
    cluster = TrainingCluster(cluster_stack, "Cluster", vpc=site.vpc, efs=True)
    LustreVolume(cluster_stack, "Lustre", cluster=cluster, file_system=files)
    ElasticVolume(cluster_stack, "Efs", cluster=cluster, file_system=shared)
    ClusterMonitoring(cluster_stack, "Monitoring", cluster=cluster, file_system=files)
    assembly = app.synth()
    assert [each.id for each in assembly.get_stack_by_name("Storage").dependencies if "assets" not in each.id] == [
        "Network"
    ]
    # The rules among the servers are with the file system, those that name the cluster's group are with the volume.
    assert (count(storage, INGRESS), count(storage, EGRESS)) == ((3, 1) if efa else (2, 0))
    rules = assertions.Template.from_stack(cluster_stack).find_resources(INGRESS).values()
    described = [rule["Properties"].get("Description", "") for rule in rules]
    assert sum("Lustre" in each for each in described) == (6 if efa else 4)
    assert described.count("NFS from its clients") == 1


def test_storage_and_its_volumes_above_the_cluster(site: Site, other: cdk.Stack) -> None:
    files, shared = lustre(site, other), ElasticFileSystem(other, "Efs", vpc=site.vpc)
    LustreVolume(other, "LustreVolume", cluster=site.cluster, file_system=files)
    ElasticVolume(other, "EfsVolume", cluster=site.cluster, file_system=shared)
    assert count(other, INGRESS) == 7
    assert count(site.stack, INGRESS) == 0


def test_volumes_in_a_third_stack(site: Site) -> None:
    app = cdk.App.of(site.stack)
    storage, volumes = cdk.Stack(app, "Storage"), cdk.Stack(app, "Volumes")
    LustreVolume(volumes, "Lustre", cluster=site.cluster, file_system=lustre(site, storage))
    assert count(volumes, INGRESS) == 4


def test_a_bucket_of_another_stack(site: Site, other: cdk.Stack) -> None:
    bucket = TrainingBucket(other, "Bucket", encryption_key=TrainingKey(other, "Key"))
    LustreFileSystem(site.stack, "Lustre", vpc=site.vpc, subnet=site.subnet, bucket=bucket)
    assert count(site.stack, "AWS::FSx::DataRepositoryAssociation") == 1
    assert isinstance(bucket, s3.Bucket)


def test_volumes_wait_for_the_drivers_of_our_cluster(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Ours", vpc=site.vpc, efs=True)
    LustreVolume(site.stack, "LustreVolume", cluster=cluster, file_system=lustre(site, site.stack))
    shared = ElasticFileSystem(site.stack, "Efs", vpc=site.vpc)
    ElasticVolume(site.stack, "EfsVolume", cluster=cluster, file_system=shared)
    template = site.template()
    addons = {id: addon["Properties"]["AddonName"] for id, addon in template.find_resources("AWS::EKS::Addon").items()}
    manifests = template.find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    drivers = {
        r"LustreVolume[0-9A-F]{8}": "aws-fsx-csi-driver",
        "LustreVolumeFolders": "aws-fsx-csi-driver",
        "EfsVolume": "aws-efs-csi-driver",
    }
    for name, driver in drivers.items():
        (manifest,) = (each for id, each in manifests.items() if re.match(name, id))
        assert driver in {addons.get(id) for id in manifest["DependsOn"]}


@pytest.mark.parametrize("kind", [LustreVolume, ClusterMonitoring, ElasticVolume])
def test_rejects_stacks_that_wait_for_each_other(kind: Any, site: Site, other: cdk.Stack) -> None:
    shared = kind is ElasticVolume
    files = ElasticFileSystem(other, "Efs", vpc=site.vpc) if shared else lustre(site, other)
    with pytest.raises(InputError) as caught:
        kind(site.stack, "User", cluster=site.cluster, file_system=files)
    assert str(caught.value) == (
        f"'file_system' is 'Storage/{files.node.id}', but its stack Storage waits for Site (Storage/{files.node.id} "
        "needs Site/Vpc); each would wait for the other; define Site/User in the stack Storage, or Site/Vpc in a "
        "separate stack"
    )


def test_rejects_a_file_system_with_a_bucket_of_the_clusters_stack() -> None:
    app, site = vpc_stack()
    stack = cdk.Stack(app, "Cluster")
    bucket = TrainingBucket(stack, "Bucket")
    files = LustreFileSystem(cdk.Stack(app, "Storage"), "Lustre", vpc=site.vpc, subnet=site.subnet, bucket=bucket)
    cluster = TrainingCluster(stack, "Cluster", vpc=site.vpc)
    with pytest.raises(InputError) as caught:
        LustreVolume(stack, "Volume", cluster=cluster, file_system=files)
    assert str(caught.value) == (
        "'file_system' is 'Storage/Lustre', but its stack Storage waits for Cluster (Storage/Lustre needs "
        "Cluster/Bucket); each would wait for the other; define Cluster/Volume in the stack Storage, or Cluster/Bucket "
        "in a separate stack"
    )


def test_rejects_a_circle_of_three_stacks() -> None:
    """The storage needs the bucket, whose stack needs the key of the network's."""
    app = cdk.App()
    network, data, storage = (cdk.Stack(app, name) for name in ("Network", "Data", "Storage"))
    bucket = TrainingBucket(data, "Bucket", encryption_key=TrainingKey(network, "Key"))
    vpc = TrainingNetwork(storage, "Vpc")
    files = LustreFileSystem(storage, "Lustre", vpc=vpc, subnet=vpc.training_subnet, bucket=bucket)
    with pytest.raises(InputError) as caught:
        ClusterMonitoring(network, "Monitoring", cluster=TrainingCluster(storage, "C", vpc=vpc), file_system=files)
    assert (
        "'cluster' is 'Storage/C', but its stack Storage waits for Network (Storage/Lustre needs Data/Bucket, "
        in str(caught.value)
    )


def test_rejects_a_volume_whose_security_group_is_above_it(site: Site, other: cdk.Stack) -> None:
    """A file system of CDK with a security group of another stack ended in a traceback."""
    below = cdk.Stack(cdk.App.of(site.stack), "Below")
    group = ec2.SecurityGroup(below, "Group", vpc=site.vpc)
    files = fsx.LustreFileSystem(
        other,
        "Lustre",
        vpc=site.vpc,
        vpc_subnet=site.subnet,
        storage_capacity_gib=1200,
        security_group=group,
        lustre_configuration=fsx.LustreConfiguration(deployment_type=fsx.LustreDeploymentType.SCRATCH_2),
    )
    LustreVolume(cdk.Stack(cdk.App.of(site.stack), "Volumes"), "Volume", cluster=site.cluster, file_system=files)
    with pytest.raises(InputError, match=r"'file_system' is 'Storage/Lustre', but its stack Storage waits for Below"):
        LustreVolume(below, "Volume2", cluster=site.cluster, file_system=files, claim="other")


def test_an_imported_construct_is_in_no_stack(site: Site, other: cdk.Stack) -> None:
    bucket = s3.Bucket.from_bucket_name(site.stack, "Imported", "data")
    vpc = ec2.Vpc.from_vpc_attributes(
        site.stack, "ImportedVpc", vpc_id="vpc-0123456789abcdef0", availability_zones=["us-east-1a"]
    )
    subnet = ec2.Subnet.from_subnet_id(site.stack, "ImportedSubnet", "subnet-0123456789abcdef0")
    files = LustreFileSystem(other, "Lustre", vpc=vpc, subnet=subnet, bucket=bucket)
    LustreVolume(site.stack, "LustreVolume", cluster=site.cluster, file_system=files)
    app = cdk.App.of(site.stack)
    assert app
    app.synth()


def test_accepts_a_file_system_in_a_nested_stack(site: Site) -> None:
    files = lustre(site, cdk.NestedStack(site.stack, "Nested"))
    app = cdk.App.of(site.stack)
    assert app
    LustreVolume(site.stack, "LustreVolume", cluster=site.cluster, file_system=files)
    app.synth()
