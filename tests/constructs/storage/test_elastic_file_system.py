import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_efs as efs
from aws_cdk import aws_kms as kms

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import ElasticFileSystem, ElasticVolume, TrainingCluster
from training_cluster.storage.elastic_file_system import ImportedElasticFileSystem
from training_workloads import InputError

IDS = {"file_system_id": "fs-0123456789abcdef0", "access_point_id": "fsap-0123456789abcdef0"}
ACCESS_POINTS = f"arn:{cdk.Aws.PARTITION}:elasticfilesystem:{cdk.Aws.REGION}:{cdk.Aws.ACCOUNT_ID}:access-point/*"


def file_system(site: Site, **options: Any) -> ElasticFileSystem:
    return ElasticFileSystem(site.stack, "Efs", vpc=site.vpc, subnets=[site.subnet], **options)


def test_it_is_encrypted_elastic_and_retained_unless_its_first_deployment_fails(site: Site) -> None:
    file_system(site)
    (made,) = site.template().find_resources("AWS::EFS::FileSystem").values()
    assert (made["DeletionPolicy"], made["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    assert made["Properties"]["Encrypted"] is True
    assert made["Properties"]["ThroughputMode"] == "elastic"
    assert made["Properties"]["LifecyclePolicies"] == [
        {"TransitionToIA": "AFTER_30_DAYS"},
        {"TransitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
    ]
    assert "KmsKeyId" not in made["Properties"]


def test_nodes_mount_an_access_point_with_tls_and_not_as_root(site: Site) -> None:
    file_system(site)
    (made,) = properties(site.template(), "AWS::EFS::FileSystem")
    assert made["FileSystemPolicy"]["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"AWS": "*"},
            "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
            "Condition": {
                "Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"},
                "StringLike": {"elasticfilesystem:AccessPointArn": site.stack.resolve(ACCESS_POINTS)},
            },
        },
        {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    ]


def test_jobs_of_sagemaker_mount_it_without_tls_and_as_root_and_it_takes_a_key(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    ElasticFileSystem(site.stack, "Efs", vpc=site.vpc, for_sagemaker=True, encryption_key=key)
    (made,) = properties(site.template(), "AWS::EFS::FileSystem")
    assert made["KmsKeyId"] == site.stack.resolve(key.key_arn)
    (statement,) = made["FileSystemPolicy"]["Statement"]
    assert statement["Action"] == [
        "elasticfilesystem:ClientMount",
        "elasticfilesystem:ClientWrite",
        "elasticfilesystem:ClientRootAccess",
    ]
    with pytest.raises(InputError, match="'for_sagemaker' is 'yes'; give true or false"):
        ElasticFileSystem(site.stack, "Other", vpc=site.vpc, for_sagemaker="yes")  # type: ignore[arg-type]


def test_rejects_root_with_the_recommended_flags_of_the_cdk_too() -> None:
    """CDK's flag adds statements to a policy, ClientRootAccess among them."""
    stack = cdk.Stack(cdk.App(context={"@aws-cdk/aws-efs:denyAnonymousAccess": True}), "Site")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    ElasticFileSystem(stack, "Efs", vpc=vpc)
    (made,) = properties(assertions.Template.from_stack(stack), "AWS::EFS::FileSystem")
    assert "ClientRootAccess" not in json.dumps(made["FileSystemPolicy"])


def test_the_jobs_folder_belongs_to_the_jobs_user(site: Site) -> None:
    file_system(site)
    (point,) = properties(site.template(), "AWS::EFS::AccessPoint")
    assert point["PosixUser"] == {"Uid": "1000", "Gid": "1000"}
    assert point["RootDirectory"] == {
        "Path": "/training",
        "CreationInfo": {"OwnerUid": "1000", "OwnerGid": "1000", "Permissions": "750"},
    }


def test_only_the_nodes_reach_its_mount_target(site: Site) -> None:
    ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=file_system(site))
    template = site.template()
    (target,) = properties(template, "AWS::EFS::MountTarget")
    assert target["SubnetId"] == site.stack.resolve(site.subnet.subnet_id)
    (open_port,) = [
        rule
        for rule in properties(template, "AWS::EC2::SecurityGroupIngress")
        if rule.get("Description") == "NFS from its clients"
    ]
    assert (open_port["IpProtocol"], open_port["FromPort"], open_port["ToPort"]) == ("tcp", 2049, 2049)
    assert open_port["SourceSecurityGroupId"] == site.stack.resolve(
        site.cluster.cluster_security_group.security_group_id
    )
    (group,) = [
        group
        for group in properties(template, "AWS::EC2::SecurityGroup")
        if group["GroupDescription"] == "Elastic File System"
    ]
    assert [rule["Description"] for rule in group["SecurityGroupEgress"]] == ["Disallow all traffic"]


def imported(site: Site, security_group: ec2.ISecurityGroup | None = None) -> ImportedElasticFileSystem:
    return ElasticFileSystem.from_elastic_file_system_attributes(
        site.stack, "Existing", **IDS, security_group=security_group
    )


def test_the_volume_of_a_new_file_system(site: Site) -> None:
    ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=file_system(site))
    template = site.template()
    (manifest,) = template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
    (target_id,) = template.find_resources("AWS::EFS::MountTarget")
    assert target_id in manifest["DependsOn"]
    assert any(id.startswith("VolumePorts") for id in manifest["DependsOn"])
    (system_id,) = template.find_resources("AWS::EFS::FileSystem")
    (point_id,) = template.find_resources("AWS::EFS::AccessPoint")
    parts = manifest["Properties"]["Manifest"]["Fn::Join"][1]
    ids = {system_id: "fs-0123456789abcdef0", point_id: "fsap-0123456789abcdef0"}
    documents = json.loads("".join(part if isinstance(part, str) else ids[part["Ref"]] for part in parts))
    assert documents[0]["spec"]["csi"]["volumeHandle"] == "fs-0123456789abcdef0::fsap-0123456789abcdef0"
    assert [document["metadata"]["name"] for document in documents] == ["training-efs", "training-efs"]


def test_the_volume_of_an_imported_file_system(site: Site) -> None:
    existing = imported(site)
    ElasticVolume(
        site.stack, "Volume", cluster=site.cluster, file_system=existing, claim="notebooks", namespace="research"
    )
    template = site.template()
    (manifest,) = properties(template, "Custom::AWSCDK-EKS-KubernetesResource")
    volume, claim = documents = json.loads(manifest["Manifest"])
    for document in documents:
        check_manifest(document)
    assert volume["spec"]["csi"]["volumeHandle"] == "fs-0123456789abcdef0::fsap-0123456789abcdef0"
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("notebooks", "research")
    template.resource_count_is("AWS::EFS::FileSystem", 0)


def test_two_file_systems_live_in_one_stack(site: Site) -> None:
    for name in ("First", "Second"):
        ElasticFileSystem(site.stack, name, vpc=site.vpc, subnets=[site.subnet])
    site.template().resource_count_is("AWS::EFS::FileSystem", 2)


def test_rejects_invalid_ids(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ElasticFileSystem.from_elastic_file_system_attributes(
            site.stack, "Existing", file_system_id="my-efs", access_point_id="fs-0123456789abcdef0"
        )
    assert str(caught.value) == (
        "'file_system_id' is 'my-efs'; give an id such as fs-0123456789abcdef0 (aws efs describe-file-systems)\n"
        "'access_point_id' is 'fs-0123456789abcdef0'; give an id such as fsap-0123456789abcdef0 "
        "(aws efs describe-access-points)"
    )


def test_rejects_another_kind_of_file_system(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system="fs-0123456789abcdef0")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "'file_system' is 'fs-0123456789abcdef0'; give an ElasticFileSystem, or import one with "
        "ElasticFileSystem.from_elastic_file_system_attributes"
    )


def test_it_is_a_file_system_of_the_cdk(site: Site) -> None:
    made = file_system(site)
    assert isinstance(made, efs.FileSystem)
    made.connections.allow_default_port_from(ec2.SecurityGroup(site.stack, "Clients", vpc=site.vpc))
    (rule,) = properties(site.template(), "AWS::EC2::SecurityGroupIngress")
    assert (rule["FromPort"], rule["ToPort"]) == (2049, 2049)


def test_the_volume_of_a_file_system_of_the_cdk(site: Site) -> None:
    made = efs.FileSystem(site.stack, "Efs", vpc=site.vpc, removal_policy=cdk.RemovalPolicy.RETAIN)
    folder = made.add_access_point("Folder")
    ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=made, access_point=folder)
    template = site.template()
    (manifest,) = template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
    (point,) = template.find_resources("AWS::EFS::AccessPoint")
    assert {"Ref": point} in manifest["Properties"]["Manifest"]["Fn::Join"][1]
    assert set(template.find_resources("AWS::EFS::MountTarget")) <= set(manifest["DependsOn"])


def test_the_volume_of_an_import_of_the_cdk(site: Site) -> None:
    group = ec2.SecurityGroup.from_security_group_id(site.stack, "Group", "sg-0123456789abcdef0")
    existing = efs.FileSystem.from_file_system_attributes(
        site.stack, "Efs", file_system_id=IDS["file_system_id"], security_group=group
    )
    folder = efs.AccessPoint.from_access_point_attributes(
        site.stack, "Folder", access_point_id=IDS["access_point_id"], file_system=existing
    )
    ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing, access_point=folder)
    template = site.template()
    template.has_resource_properties("AWS::EC2::SecurityGroupIngress", {"GroupId": "sg-0123456789abcdef0"})
    (manifest,) = properties(template, "Custom::AWSCDK-EKS-KubernetesResource")
    assert "fs-0123456789abcdef0::fsap-0123456789abcdef0" in manifest["Manifest"]


def test_requires_an_access_point_of_a_file_system_of_the_cdk(site: Site) -> None:
    made = efs.FileSystem(site.stack, "Efs", vpc=site.vpc)
    with pytest.raises(InputError) as caught:
        ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=made)
    assert str(caught.value) == (
        "'access_point' is missing, but jobs cannot write to the root of a file system; "
        "give one, such as file_system.add_access_point(...)"
    )


@pytest.mark.parametrize("names", [{"claim": "My Claim"}, {"namespace": "A B"}])
def test_rejects_names_that_kubernetes_does_not_allow(names: dict[str, Any], site: Site) -> None:
    with pytest.raises(InputError, match=next(iter(names))):
        ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=imported(site), **names)


def test_rejects_other_types_than_a_vpc(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ElasticFileSystem(site.stack, "Efs", vpc=site)  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("vpc",)]


def test_it_has_one_mount_target_in_each_zone() -> None:
    stack = cdk.Stack(cdk.App(), "Stack")
    private = ec2.SubnetType.PRIVATE_WITH_EGRESS
    groups = [
        ec2.SubnetConfiguration(name="Public", subnet_type=ec2.SubnetType.PUBLIC),
        ec2.SubnetConfiguration(name="Nodes", subnet_type=private),
        ec2.SubnetConfiguration(name="Data", subnet_type=private),
    ]
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, subnet_configuration=groups)
    ElasticFileSystem(stack, "Efs", vpc=vpc)
    targets = properties(assertions.Template.from_stack(stack), "AWS::EFS::MountTarget")
    first = [subnet.subnet_id for subnet in vpc.select_subnets(subnet_group_name="Nodes").subnets]
    assert [target["SubnetId"] for target in targets] == [stack.resolve(id) for id in first]


def test_rejects_the_id_of_a_security_group(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ElasticFileSystem.from_elastic_file_system_attributes(
            site.stack,
            "Imported",
            **IDS,
            security_group="sg-0123456789abcdef0",  # type: ignore[arg-type]
        )
    assert str(caught.value) == (
        "'security_group' is 'sg-0123456789abcdef0'; give a security group, such as "
        "SecurityGroup.from_security_group_id(...)"
    )


def test_rejects_other_types_than_a_list_of_subnets(site: Site) -> None:
    for given, message in (
        (site.subnet, "'subnets' is a PrivateSubnet; give a list"),
        (["subnet-1"], "'subnets[0]' is 'subnet-1'; give a subnet, such as vpc.private_subnets[0]"),
    ):
        with pytest.raises(InputError) as caught:
            ElasticFileSystem(site.stack, "Efs", vpc=site.vpc, subnets=given)  # type: ignore[arg-type]
        assert str(caught.value) == message


def test_a_volume_brings_the_driver_to_our_cluster_once(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)
    shared = file_system(site)
    for number in range(2):
        ElasticVolume(site.stack, f"Volume{number}", cluster=cluster, file_system=shared, claim=f"claim-{number}")
    names = [addon["AddonName"] for addon in properties(site.template(), "AWS::EKS::Addon")]
    assert names.count("aws-efs-csi-driver") == 1
