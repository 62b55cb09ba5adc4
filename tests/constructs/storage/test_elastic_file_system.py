import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import LustreFileSystem
from training_cluster.storage.elastic_file_system import ElasticFileSystem, ElasticVolume, ExistingElasticFileSystem
from training_workloads import InputError


def file_system(site: Site, **options: Any) -> ElasticFileSystem:
    return ElasticFileSystem(
        site.stack,
        "Efs",
        vpc=site.vpc,
        subnets=[site.subnet],
        clients=site.cluster.cluster_security_group,
        **options,
    )


def test_it_is_encrypted_elastic_and_kept(site: Site) -> None:
    file_system(site)
    (made,) = site.template().find_resources("AWS::EFS::FileSystem").values()
    assert made["DeletionPolicy"] == made["UpdateReplacePolicy"] == "Retain"
    assert made["Properties"]["Encrypted"] is True
    assert made["Properties"]["ThroughputMode"] == "elastic"
    assert made["Properties"]["LifecyclePolicies"] == [
        {"TransitionToIA": "AFTER_30_DAYS"},
        {"TransitionToPrimaryStorageClass": "AFTER_1_ACCESS"},
    ]
    assert "KmsKeyId" not in made["Properties"]


def test_it_takes_a_key(site: Site) -> None:
    file_system(site, encryption_key=kms.Key(site.stack, "Key"))
    (made,) = properties(site.template(), "AWS::EFS::FileSystem")
    assert made["KmsKeyId"]["Fn::GetAtt"][1] == "Arn"


def test_nodes_mount_it_with_tls_and_not_as_root(site: Site) -> None:
    file_system(site)
    (made,) = properties(site.template(), "AWS::EFS::FileSystem")
    assert made["FileSystemPolicy"]["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"AWS": "*"},
            "Action": ["elasticfilesystem:ClientMount", "elasticfilesystem:ClientWrite"],
            "Condition": {"Bool": {"elasticfilesystem:AccessedViaMountTarget": "true"}},
        },
        {
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": "*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    ]


def test_with_cdks_recommended_flags_nobody_becomes_root_either() -> None:
    """CDK's flag adds statements of its own to a policy, ClientRootAccess among them."""
    stack = cdk.Stack(cdk.App(context={"@aws-cdk/aws-efs:denyAnonymousAccess": True}), "Site")
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    clients = ec2.SecurityGroup(stack, "Nodes", vpc=vpc)
    ElasticFileSystem(stack, "Efs", vpc=vpc, subnets=vpc.private_subnets, clients=clients)
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


def test_a_mount_target_that_only_the_nodes_reach(site: Site) -> None:
    file_system(site)
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


def test_the_volume_of_a_new_file_system(site: Site) -> None:
    ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=file_system(site))
    template = site.template()
    (manifest,) = template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
    (target_id,) = template.find_resources("AWS::EFS::MountTarget")
    assert target_id in manifest["DependsOn"]
    (system_id,) = template.find_resources("AWS::EFS::FileSystem")
    (point_id,) = template.find_resources("AWS::EFS::AccessPoint")
    parts = manifest["Properties"]["Manifest"]["Fn::Join"][1]
    ids = {system_id: "fs-0123456789abcdef0", point_id: "fsap-0123456789abcdef0"}
    documents = json.loads("".join(part if isinstance(part, str) else ids[part["Ref"]] for part in parts))
    assert documents[0]["spec"]["csi"]["volumeHandle"] == "fs-0123456789abcdef0::fsap-0123456789abcdef0"
    assert [document["metadata"]["name"] for document in documents] == ["training-efs", "training-efs"]


def test_the_volume_of_an_existing_file_system(site: Site) -> None:
    existing = ExistingElasticFileSystem(
        file_system_id="fs-0123456789abcdef0", access_point_id="fsap-0123456789abcdef0"
    )
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
        ElasticFileSystem(
            site.stack,
            name,
            vpc=site.vpc,
            subnets=[site.subnet],
            clients=site.cluster.cluster_security_group,
        )
    site.template().resource_count_is("AWS::EFS::FileSystem", 2)


def test_ids_that_are_none() -> None:
    with pytest.raises(InputError) as caught:
        ExistingElasticFileSystem(file_system_id="my-efs", access_point_id="fs-0123456789abcdef0")
    assert caught.value.args == (
        "'file_system_id' is 'my-efs'; give an id such as fs-0123456789abcdef0 (aws efs describe-file-systems)",
        "'access_point_id' is 'fs-0123456789abcdef0'; give an id such as fsap-0123456789abcdef0 "
        "(aws efs describe-access-points)",
    )


def test_a_file_system_of_another_kind(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system="fs-0123456789abcdef0")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "'file_system' is 'fs-0123456789abcdef0'; give ElasticFileSystem(...) or ExistingElasticFileSystem(...)"
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"claim": "My Claim"},
            "'claim' is 'My Claim'; give a name of lower-case letters, digits, '-' and '.', at most 253",
        ),
        ({"namespace": "A B"}, "'namespace' is 'A B'; give lower-case letters, digits and '-', at most 63"),
    ],
)
def test_names_that_kubernetes_refuses(names: dict[str, str], message: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        ElasticVolume(site.stack, "Volume", cluster=site.cluster, file_system=file_system(site), **names)
    assert str(caught.value) == message


def test_a_construct_around_the_vpc_is_no_vpc(site: Site) -> None:
    where: dict[str, Any] = {"vpc": site, "clients": site.cluster.cluster_security_group}
    with pytest.raises(InputError, match=r"^'vpc' is a Site; give \.vpc of it$"):
        ElasticFileSystem(site.stack, "Efs", subnets=[site.subnet], **where)
    with pytest.raises(InputError, match=r"^'vpc' is a Site; give \.vpc of it$"):
        LustreFileSystem(site.stack, "Lustre", subnet=site.subnet, bucket=s3.Bucket(site.stack, "Bucket"), **where)
