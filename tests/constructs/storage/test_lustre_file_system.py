import json
from collections import Counter
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Size, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from training_cluster import DataRepository, LustreFileSystem, TrainingBucket
from training_cluster.storage.lustre_file_system import LustreFileSystemBase
from training_workloads import InputError

ASSOCIATION = "AWS::FSx::DataRepositoryAssociation"
INGRESS = "AWS::EC2::SecurityGroupIngress"


EFA: dict[str, Any] = {"efa": True, "capacity_gib": 4800, "throughput_mbps_per_tib": 1000}

EXISTING: dict[str, Any] = {
    "file_system_id": "fs-0123456789abcdef0",
    "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    "mount_name": "abcdefgh",
    "capacity_gib": 2400,
}


def file_system(site: Site, **options: Any) -> LustreFileSystem:
    bucket = s3.Bucket(site.stack, "Bucket")
    given: dict[str, Any] = {"vpc": site.vpc, "subnet": site.subnet, "bucket": bucket, **options}
    return LustreFileSystem(site.stack, "Lustre", **given)


def rules(site: Site, direction: str, protocol: str) -> dict[tuple[str, str], set[Any]]:
    """Ports by the pair of groups that a rule connects: this one and the other."""
    other = "SourceSecurityGroupId" if direction == "Ingress" else "DestinationSecurityGroupId"
    found: dict[tuple[str, str], set[Any]] = {}
    for rule in properties(site.template(), f"AWS::EC2::SecurityGroup{direction}"):
        if rule["IpProtocol"] == protocol and "Lustre" in rule["Description"]:
            here, there = (rule[end]["Fn::GetAtt"][0][:6] for end in ("GroupId", other))
            found.setdefault((here, there), set()).add((rule.get("FromPort"), rule.get("ToPort")))
    return found


def test_the_smallest_by_default_and_it_is_deleted_with_its_stack(site: Site) -> None:
    made = file_system(site)
    assert (made.capacity_gib, made.efa) == (1200, False)
    (whole,) = site.template().find_resources("AWS::FSx::FileSystem").values()
    assert (whole["DeletionPolicy"], whole["UpdateReplacePolicy"]) == ("Delete", "Retain")
    resource = whole["Properties"]
    assert resource["FileSystemTypeVersion"] == "2.15"
    assert (resource["StorageType"], resource["StorageCapacity"]) == ("SSD", 1200)
    assert resource["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 125,
        "DataCompressionType": "LZ4",
    }
    assert len(resource["SubnetIds"]) == 1
    assert "KmsKeyId" not in resource


def test_every_class_of_persistent_storage_and_its_key(site: Site) -> None:
    given: dict[str, Any] = {"vpc": site.vpc, "subnet": site.subnet, "encryption_key": kms.Key(site.stack, "Key")}
    classes = (125, 250, 500, 1000)
    for each in classes:
        size = Size.gibibytes(4800)
        LustreFileSystem(site.stack, f"Lustre{each}", capacity_gib=size, throughput_mbps_per_tib=each, **given)
    resources = properties(site.template(), "AWS::FSx::FileSystem")
    assert [each["LustreConfiguration"]["PerUnitStorageThroughput"] for each in resources] == list(classes)
    assert {each["StorageCapacity"] for each in resources} == {4800}
    assert {each["KmsKeyId"]["Fn::GetAtt"][1] for each in resources} == {"Arn"}


def test_scratch_storage_has_neither_throughput_nor_key(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    file_system(site, deployment_type=fsx.LustreDeploymentType.SCRATCH_2, capacity_gib=2400, encryption_key=key)
    template = site.template()
    (resource,) = properties(template, "AWS::FSx::FileSystem")
    assert resource["LustreConfiguration"] == {"DeploymentType": "SCRATCH_2", "DataCompressionType": "LZ4"}
    assert resource["StorageCapacity"] == 2400
    assert "KmsKeyId" not in resource
    template.resource_count_is(ASSOCIATION, 1)


def test_the_bucket_is_its_root_and_deletions_stay_on_lustre(site: Site) -> None:
    made = file_system(site)
    assert list(made.data_repositories) == ["/"]
    template = site.template()
    ((id, link),) = template.find_resources(ASSOCIATION).items()
    # The id of releases that knew one link only: another would replace it, and FSx rejects two of the same path.
    assert id == "LustreDataRepository95D81F00"
    assert link["Properties"] | {"FileSystemId": None} == {
        "FileSystemId": None,
        "FileSystemPath": "/",
        "DataRepositoryPath": {"Fn::Join": ["", ["s3://", {"Ref": "Bucket83908E77"}]]},
        "BatchImportMetaDataOnCreate": True,
        "S3": {
            "AutoImportPolicy": {"Events": ["NEW", "CHANGED"]},
            "AutoExportPolicy": {"Events": ["NEW", "CHANGED"]},
        },
    }


def test_several_folders_mirror_several_prefixes(site: Site) -> None:
    repositories = (
        DataRepository(path="/data/imagenet", prefix="datasets/imagenet/"),
        DataRepository(path="/scratch", prefix="scratch", export_deletions=True, i_know_that_rm_deletes_objects=True),
    )
    made = file_system(site, data_repositories=repositories)
    assert list(made.data_repositories) == ["/data/imagenet", "/scratch"]
    found = {link["FileSystemPath"]: link for link in properties(site.template(), ASSOCIATION)}
    prefixes = {path: link["DataRepositoryPath"]["Fn::Join"][1][-1] for path, link in found.items()}
    assert prefixes == {"/data/imagenet": "/datasets/imagenet/", "/scratch": "/scratch"}
    exported = {path: link["S3"]["AutoExportPolicy"]["Events"] for path, link in found.items()}
    assert exported == {"/data/imagenet": ["NEW", "CHANGED"], "/scratch": ["NEW", "CHANGED", "DELETED"]}
    assert {tuple(link["S3"]["AutoImportPolicy"]["Events"]) for link in found.values()} == {("NEW", "CHANGED")}


def test_a_file_system_without_data_repositories_or_without_a_bucket(site: Site) -> None:
    assert file_system(site, data_repositories=()).data_repositories == {}
    assert LustreFileSystem(site.stack, "Apart", vpc=site.vpc, subnet=site.subnet).data_repositories == {}
    site.template().resource_count_is(ASSOCIATION, 0)


def test_opens_both_port_ranges_between_its_servers(site: Site) -> None:
    file_system(site)
    assert rules(site, "Ingress", "tcp") == {("Lustre", "Lustre"): {(988, 988), (1018, 1023)}}
    assert rules(site, "Ingress", "-1") == {}
    assert rules(site, "Egress", "-1") == {}


def test_efa_opens_all_traffic_between_its_servers(site: Site) -> None:
    file_system(site, **EFA)
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 1000,
        "DataCompressionType": "LZ4",
        "EfaEnabled": True,
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }
    for direction in ("Ingress", "Egress"):
        assert rules(site, direction, "-1") == {("Lustre", "Lustre"): {(None, None)}}


@pytest.mark.parametrize(
    ("options", "needed"),
    [({}, {INGRESS: 2}), (EFA, {INGRESS: 3, "AWS::EC2::SecurityGroupEgress": 1})],
)
def test_its_servers_reach_each_other_first(site: Site, options: dict[str, Any], needed: dict[str, int]) -> None:
    file_system(site, **options)
    template = site.template()
    resources = template.to_json()["Resources"]
    (made,) = template.find_resources("AWS::FSx::FileSystem").values()
    assert Counter(resources[id]["Type"] for id in made["DependsOn"]) == needed


def test_allows_a_token_as_capacity(site: Site) -> None:
    size = CfnParameter(site.stack, "Size", type="Number").value_as_number
    made = file_system(site, capacity_gib=size)
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["StorageCapacity"] == {"Ref": "Size"}
    assert site.stack.resolve(made.capacity_gib) == {"Ref": "Size"}


def test_it_is_a_file_system_of_the_cdk(site: Site) -> None:
    made = file_system(site, bucket=TrainingBucket(site.stack, "Data"))
    assert isinstance(made, fsx.FileSystemBase)
    clients = ec2.SecurityGroup(site.stack, "Clients", vpc=site.vpc)
    made.connections.allow_default_port_from(clients)
    (rule,) = (each for each in properties(site.template(), INGRESS) if "Clients" in json.dumps(each))
    assert (rule["FromPort"], rule["ToPort"]) == (988, 1023)


def test_its_metrics_name_the_file_system(site: Site) -> None:
    made = file_system(site)
    read, written, free = (
        made.metric_data_read_bytes(),
        made.metric_data_write_bytes(period=Duration.minutes(5)),
        made.metric_free_data_storage_capacity(),
    )
    names = [metric.metric_name for metric in (read, written, free)]
    assert names == ["DataReadBytes", "DataWriteBytes", "FreeDataStorageCapacity"]
    assert [metric.period.to_minutes() for metric in (read, written, free)] == [1, 5, 1]
    assert (read.namespace, read.statistic) == ("AWS/FSx", "Sum")
    assert read.dimensions == {"FileSystemId": made.file_system_id}
    largest = made.metric_data_read_bytes(statistic="Maximum", label="largest")
    assert (largest.statistic, largest.label, largest.period.to_minutes()) == ("Maximum", "largest", 1)


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"capacity_gib": 1000}, "capacity_gib"),
        ({"capacity_gib": Size.tebibytes(4.8)}, "capacity_gib"),
        ({"capacity_gib": "1200"}, "capacity_gib"),
        ({"deployment_type": fsx.LustreDeploymentType.PERSISTENT_1}, "deployment_type"),
        ({"subnet": "subnet-0123456789abcdef0"}, "subnet"),
        ({"bucket": "my-data"}, "bucket"),
        ({"bucket": None, "data_repositories": [DataRepository()]}, "bucket"),
        ({"vpc": "vpc-0123456789abcdef0"}, "vpc"),
        ({"encryption_key": "alias/training"}, "encryption_key"),
        ({"data_repositories": {"path": "/"}}, "data_repositories"),
    ],
)
def test_rejects_what_fsx_or_python_would_not_take(options: dict[str, Any], path: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        file_system(site, **options)
    assert [problem.path for problem in caught.value.problems] == [(path,)]


def imported(site: Site, **options: Any) -> LustreFileSystemBase:
    return LustreFileSystem.from_lustre_file_system_attributes(site.stack, "Existing", **EXISTING | options)


def test_an_imported_file_system_has_its_attributes(site: Site) -> None:
    made = imported(site, capacity_gib=Size.tebibytes(2.34375))
    assert (made.file_system_id, made.dns_name) == (EXISTING["file_system_id"], EXISTING["dns_name"])
    assert (made.mount_name, made.capacity_gib) == ("abcdefgh", 2400)
    assert made.connections.security_groups == []
    site.template().resource_count_is("AWS::FSx::FileSystem", 0)


def test_allows_tokens_as_attributes(site: Site) -> None:
    names = {name: Token.as_string({"Ref": name}) for name in ("file_system_id", "dns_name", "mount_name")}
    made = imported(site, **names, capacity_gib=Token.as_number({"Ref": "Size"}))
    assert site.stack.resolve(made.capacity_gib) == {"Ref": "Size"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"file_system_id": "my-lustre"},
            "'file_system_id' is 'my-lustre'; give an id such as fs-0123456789abcdef0 (aws fsx describe-file-systems)",
        ),
        (
            {"dns_name": "https://lustre"},
            "'dns_name' is 'https://lustre'; give the name alone, as DNSName of aws fsx describe-file-systems: "
            "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        ),
        (
            {"dns_name": "10.0.0.1"},
            "'dns_name' is '10.0.0.1'; give the name alone, as DNSName of aws fsx describe-file-systems: "
            "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com",
        ),
        (
            {"mount_name": "/fsx"},
            "'mount_name' is '/fsx'; give MountName of aws fsx describe-file-systems, at most 8 characters",
        ),
        ({"capacity_gib": "2400"}, "'capacity_gib' is '2400'; give a whole number, 1 or more"),
        (
            {"security_group": "sg-01234567"},
            "'security_group' is 'sg-01234567'; give a security group, such as "
            "SecurityGroup.from_security_group_id(...)",
        ),
    ],
)
def test_rejects_attributes_that_no_file_system_has(given: dict[str, Any], message: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        imported(site, **given)
    assert str(caught.value) == message


def test_rejects_a_size_of_the_deployment_in_another_unit(site: Site) -> None:
    capacity = Size.tebibytes(CfnParameter(site.stack, "Capacity", type="Number").value_as_number)
    with pytest.raises(InputError) as caught:
        LustreFileSystem(site.stack, "Lustre", vpc=site.vpc, subnet=site.subnet, capacity_gib=capacity)
    assert str(caught.value) == (
        "'capacity_gib' is a Size, but a value that only the deployment knows must be in GiB; give Size.gibibytes(...)"
    )
