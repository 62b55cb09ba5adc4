"""The library in the apps of its users: stages, regions, imported resources, tags, tokens, storage in another stack."""

import json
import runpy
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from setup.source_tree import PROJECT
from stacks import TrainingDataStack
from training_cluster import (
    ClusterConfig,
    CompleteSageMakerTraining,
    CompleteTrainingCluster,
    LustreFileSystem,
    LustreVolume,
    SageMakerConfig,
    TrainingBucket,
    TrainingCluster,
    TrainingKey,
    TrainingNetwork,
)
from training_cluster.config import GpuNodeGroupConfig, NotebookSpec

CONFIG = ClusterConfig(
    node_groups={"gpu": GpuNodeGroupConfig(instance_type="p4d.24xlarge", max_size=2)},
    admin_arns=("arn:aws:iam::111122223333:role/Admin",),
)


def stack_in(region: str, scope: Construct) -> cdk.Stack:
    return cdk.Stack(scope, region, env=cdk.Environment(account="111122223333", region=region))


def kinds(stack: cdk.Stack) -> list[str]:
    return sorted(each["Type"] for each in assertions.Template.from_stack(stack).to_json()["Resources"].values())


def test_a_stage_with_the_complete_cluster_in_two_regions() -> None:
    stage = cdk.Stage(cdk.App(), "Production")
    stacks = [stack_in(region, stage) for region in ("us-west-2", "eu-west-1")]
    for stack in stacks:
        CompleteTrainingCluster(stack, "Training", config=CONFIG, bucket=s3.Bucket(stack, "Bucket"))
    first, second = (assertions.Template.from_stack(stack).to_json() for stack in stacks)
    assert "eu-west-1" not in json.dumps(first)
    assert "us-west-2" not in json.dumps(second)
    assert first["Resources"].keys() == second["Resources"].keys()
    assert "AWS::EKS::Nodegroup" in kinds(stacks[0])


def test_data_stays_in_a_stack_that_outlives_the_cluster() -> None:
    app = cdk.App()
    data, site = cdk.Stack(app, "Data"), cdk.Stack(app, "Site")
    key = TrainingKey(data, "Key")
    bucket = TrainingBucket(data, "Bucket", encryption_key=key)
    CompleteTrainingCluster(site, "Training", config=CONFIG, bucket=bucket, encryption_key=key)
    app.synth()
    assert site.dependencies == [data]
    assert data.dependencies == []


def test_lustre_in_a_stack_apart_from_its_clients() -> None:
    app = cdk.App()
    shared, storage, site = (cdk.Stack(app, name) for name in ("Network", "Storage", "Site"))
    network = TrainingNetwork(shared, "Network")
    file_system = LustreFileSystem(
        storage, "Lustre", vpc=network, subnet=network.training_subnet, bucket=s3.Bucket(storage, "Bucket")
    )
    cluster = TrainingCluster(site, "Cluster", vpc=network)
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    LustreVolume(site, "Volume", cluster=cluster, file_system=file_system)
    cluster.add_platform("Platform")
    app.synth()
    assert "AWS::FSx::FileSystem" in kinds(storage)
    assert "AWS::FSx::FileSystem" not in kinds(site)
    assert storage not in shared.dependencies
    assert site not in storage.dependencies


def test_a_vpc_of_the_cdk_and_an_imported_vpc() -> None:
    site = stack_in("us-east-1", cdk.App())
    own = ec2.Vpc(site, "Vpc", max_azs=2)
    TrainingCluster(site, "InOwn", vpc=own).add_gpu_node_group("gpu", instance_type=ec2.InstanceType("g5.xlarge"))
    imported = ec2.Vpc.from_vpc_attributes(
        site,
        "Imported",
        vpc_id="vpc-0123456789abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
        private_subnet_route_table_ids=["rtb-0123456789abcdef0", "rtb-0123456789abcdef1"],
    )
    cluster = TrainingCluster(site, "InImported", vpc=imported)
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    cluster.add_lustre("Lustre", bucket=s3.Bucket(site, "Bucket"))
    (file_system,) = assertions.Template.from_stack(site).find_resources("AWS::FSx::FileSystem").values()
    assert file_system["Properties"]["SubnetIds"] == ["subnet-0123456789abcdef0"]


def test_an_imported_cluster_has_the_same_methods() -> None:
    site = stack_in("us-east-1", cdk.App())
    network = TrainingNetwork(site, "Network")
    cluster = TrainingCluster.from_cluster_attributes(
        site,
        "Cluster",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=network,
        kubernetes_version="1.35",
    )
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge")
    cluster.add_lustre("Lustre", bucket=s3.Bucket(site, "Bucket"))
    cluster.add_platform("Platform")
    found = kinds(site)
    assert found.count("AWS::EKS::Nodegroup") == 1
    assert "AWS::EKS::Cluster" not in found


@jsii.implements(cdk.IAspect)
class KeepFileSystems:
    """An aspect of a user: deleting a stack keeps its file systems."""

    def visit(self, node: IConstruct) -> None:
        if isinstance(node, cdk.CfnResource) and node.cfn_resource_type == "AWS::FSx::FileSystem":
            node.apply_removal_policy(cdk.RemovalPolicy.RETAIN)


def test_tokens_tags_and_aspects() -> None:
    app = cdk.App()
    site = cdk.Stack(app, "Site")
    reservation = cdk.CfnParameter(site, "Reservation").value_as_string
    network = TrainingNetwork(site, "Network")
    cluster = TrainingCluster(site, "Cluster", vpc=network)
    cluster.add_gpu_node_group("gpu", instance_type="p4d.24xlarge", capacity_reservation_id=reservation)
    cluster.add_lustre("Lustre", capacity_gib=cdk.Size.gibibytes(2400))
    cdk.Tags.of(app).add("team", "vision")
    cdk.Aspects.of(app).add(KeepFileSystems())
    template = assertions.Template.from_stack(site)
    for kind in ("AWS::EKS::Cluster", "AWS::FSx::FileSystem", "AWS::EC2::VPC"):
        for resource in template.find_resources(kind).values():
            assert tags(resource)["team"] == "vision", kind
    # EKS would reject a changed tag together with other changes; the instances have the tag from their template.
    for group in template.find_resources("AWS::EKS::Nodegroup").values():
        assert "team" not in group["Properties"].get("Tags", {})
    for resource in template.find_resources("AWS::EC2::LaunchTemplate").values():
        (of_instances,) = (
            each["Tags"]
            for each in resource["Properties"]["LaunchTemplateData"]["TagSpecifications"]
            if each["ResourceType"] == "instance"
        )
        assert {"Key": "team", "Value": "vision"} in of_instances
    template.has_resource("AWS::FSx::FileSystem", {"Properties": {"StorageCapacity": 2400}, "DeletionPolicy": "Retain"})
    assert "Reservation" in json.dumps(template.find_resources("AWS::EC2::LaunchTemplate"))


def tags(resource: Mapping[str, Any]) -> dict[str, str]:
    found = resource["Properties"]["Tags"]
    return found if isinstance(found, dict) else {tag["Key"]: tag["Value"] for tag in found}


def test_objects_of_the_library_go_where_those_of_the_cdk_go() -> None:
    site = cdk.Stack(cdk.App(), "Site")
    key: kms.IKey = TrainingKey(site, "Key")
    bucket: s3.IBucket = TrainingBucket(site, "Bucket", encryption_key=key)
    network = TrainingNetwork(site, "Network", encryption_key=key)
    cluster = TrainingCluster(site, "Cluster", vpc=network, encryption_key=key)
    identity = cluster.add_job_identity("trainer", bucket=bucket, prefix="runs")
    s3.Bucket(site, "Other").grant_read(identity)
    file_system = cluster.add_lustre("Lustre", bucket=bucket)
    file_system.connections.allow_default_port_from(ec2.Peer.ipv4("10.1.0.0/16"))
    template = assertions.Template.from_stack(site).to_json()
    buckets = [
        each.get("Properties", {}) for each in template["Resources"].values() if each["Type"] == "AWS::S3::Bucket"
    ]
    encryptions = [
        rule["ServerSideEncryptionByDefault"]
        for each in buckets
        for rule in each.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", [])
    ]
    assert [each["SSEAlgorithm"] for each in encryptions if "KMSMasterKeyID" in each] == ["aws:kms"]


def test_the_data_stack_of_a_written_project_has_what_that_of_this_app_has() -> None:
    config = CONFIG.model_copy(update={"monthly_budget_usd": 100, "alarm_email": "team@example.com"})
    written = runpy.run_path(str(PROJECT / "app.py"))["TrainingDataStack"](cdk.App(), config)
    ours = TrainingDataStack(cdk.App(), "TrainingDataStack", monthly_budget_usd=100, email="team@example.com")
    assert "AWS::Budgets::Budget" in kinds(written)
    assert kinds(written) == kinds(ours)


def test_a_written_project_has_the_stack_of_sagemaker_where_its_file_has_the_section() -> None:
    context = {"config": str(PROJECT / "cluster.yaml"), "sagemaker.notebook": "true"}
    written = runpy.run_path(str(PROJECT / "app.py"))["build"](cdk.App(context=context))
    ours = CompleteSageMakerTraining(
        cdk.Stack(cdk.App(), "Ours"),
        "Default",
        config=SageMakerConfig(notebook=NotebookSpec()),
        bucket=s3.Bucket.from_bucket_name(cdk.Stack(cdk.App(), "Other"), "Bucket", "data"),
        repository=ecr.Repository.from_repository_name(cdk.Stack(cdk.App(), "Images"), "Images", "images"),
    )
    (stack,) = [each for each in written.node.children if each.node.id == "SageMakerTrainingStack"]
    assert isinstance(stack, cdk.Stack)
    assert kinds(stack) == kinds(cdk.Stack.of(ours))
