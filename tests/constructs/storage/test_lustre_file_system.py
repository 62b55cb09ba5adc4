from typing import Any

import pytest
from aws_cdk import CfnParameter
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from training_cluster import LustreFileSystem
from training_cluster.storage.lustre_spec import DataRepositorySpec, LustreSpec
from training_workloads import InputError

LINKED = "AWS::FSx::DataRepositoryAssociation"


def file_system(site: Site, spec: LustreSpec | None = None, key: kms.IKey | None = None) -> LustreFileSystem:
    return LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
        clients=site.cluster.cluster_security_group,
        bucket=s3.Bucket(site.stack, "Bucket"),
        spec=spec,
        encryption_key=key,
    )


def rules(site: Site, direction: str, protocol: str) -> dict[tuple[str, str], set[Any]]:
    """Ports by the pair of groups that a rule connects: this one and the other."""
    other = "SourceSecurityGroupId" if direction == "Ingress" else "DestinationSecurityGroupId"
    found: dict[tuple[str, str], set[Any]] = {}
    for rule in properties(site.template(), f"AWS::EC2::SecurityGroup{direction}"):
        if rule["IpProtocol"] == protocol and "Lustre" in rule["Description"]:
            here, there = (rule[end]["Fn::GetAtt"][0][:6] for end in ("GroupId", other))
            found.setdefault((here, there), set()).add((rule.get("FromPort"), rule.get("ToPort")))
    return found


def test_the_smallest_by_default(site: Site) -> None:
    made = file_system(site)
    assert made.spec == LustreSpec()
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["FileSystemTypeVersion"] == "2.15"
    assert (resource["StorageType"], resource["StorageCapacity"]) == ("SSD", 1200)
    assert resource["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 125,
        "DataCompressionType": "LZ4",
    }
    assert len(resource["SubnetIds"]) == 1
    assert "KmsKeyId" not in resource


@pytest.mark.parametrize("throughput", [125, 250, 500, 1000])
def test_every_class_of_persistent_storage(site: Site, throughput: int) -> None:
    file_system(site, LustreSpec(capacity_gib=4800, throughput_mbps_per_tib=throughput))
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["StorageCapacity"] == 4800
    assert resource["LustreConfiguration"]["PerUnitStorageThroughput"] == throughput


def test_persistent_storage_takes_a_key(site: Site) -> None:
    file_system(site, key=kms.Key(site.stack, "Key"))
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["KmsKeyId"]["Fn::GetAtt"][1] == "Arn"


def test_scratch_storage_has_neither_throughput_nor_key(site: Site) -> None:
    file_system(site, LustreSpec(deployment_type="SCRATCH_2", capacity_gib=2400), kms.Key(site.stack, "Key"))
    template = site.template()
    (resource,) = properties(template, "AWS::FSx::FileSystem")
    assert resource["LustreConfiguration"] == {"DeploymentType": "SCRATCH_2", "DataCompressionType": "LZ4"}
    assert resource["StorageCapacity"] == 2400
    assert "KmsKeyId" not in resource
    template.resource_count_is(LINKED, 1)


def test_the_bucket_is_its_root_and_deletions_stay_on_lustre(site: Site) -> None:
    made = file_system(site)
    assert list(made.data_repositories) == ["/"]
    template = site.template()
    ((id, link),) = template.find_resources(LINKED).items()
    # The id of releases that knew one link only: another would replace it, and FSx refuses two of the same path.
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
    links = (
        DataRepositorySpec(path="/data/imagenet", prefix="datasets/imagenet/"),
        DataRepositorySpec(
            path="/scratch", prefix="scratch", export_deletions=True, i_know_that_rm_deletes_objects=True
        ),
    )
    made = file_system(site, LustreSpec(data_repositories=links))
    assert list(made.data_repositories) == ["/data/imagenet", "/scratch"]
    found = {link["FileSystemPath"]: link for link in properties(site.template(), LINKED)}
    prefixes = {path: link["DataRepositoryPath"]["Fn::Join"][1][-1] for path, link in found.items()}
    assert prefixes == {"/data/imagenet": "/datasets/imagenet/", "/scratch": "/scratch"}
    exported = {path: link["S3"]["AutoExportPolicy"]["Events"] for path, link in found.items()}
    assert exported == {"/data/imagenet": ["NEW", "CHANGED"], "/scratch": ["NEW", "CHANGED", "DELETED"]}
    assert {tuple(link["S3"]["AutoImportPolicy"]["Events"]) for link in found.values()} == {("NEW", "CHANGED")}


def test_a_file_system_without_links(site: Site) -> None:
    assert file_system(site, LustreSpec(data_repositories=())).data_repositories == {}
    site.template().resource_count_is(LINKED, 0)


def test_both_port_ranges_are_open_in_both_directions(site: Site) -> None:
    file_system(site)
    ports = {(988, 988), (1018, 1023)}
    pairs = (("Lustre", "Lustre"), ("Lustre", "Cluste"), ("Cluste", "Lustre"))
    assert rules(site, "Ingress", "tcp") == dict.fromkeys(pairs, ports)
    assert rules(site, "Ingress", "-1") == {}
    assert rules(site, "Egress", "-1") == {}


def test_efa_opens_everything_between_servers_and_clients(site: Site) -> None:
    file_system(site, LustreSpec(efa=True, capacity_gib=4800, throughput_mbps_per_tib=1000))
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 1000,
        "DataCompressionType": "LZ4",
        "EfaEnabled": True,
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }
    pairs = (("Lustre", "Lustre"), ("Lustre", "Cluste"), ("Cluste", "Lustre"))
    for direction in ("Ingress", "Egress"):
        assert rules(site, direction, "-1") == {pair: {(None, None)} for pair in pairs}


@pytest.mark.parametrize(
    ("spec", "needed"),
    [(LustreSpec(), 2), (LustreSpec(efa=True, capacity_gib=4800, throughput_mbps_per_tib=1000), 8)],
)
def test_the_servers_reach_each_other_before_the_file_system_is_made(site: Site, spec: LustreSpec, needed: int) -> None:
    file_system(site, spec)
    template = site.template()
    resources = template.to_json()["Resources"]
    (made,) = template.find_resources("AWS::FSx::FileSystem").values()
    first = [resources[id]["Type"] for id in made["DependsOn"]]
    assert len(first) == needed
    assert set(first) <= {"AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"}


def test_a_size_known_at_deployment(site: Site) -> None:
    size = CfnParameter(site.stack, "Size", type="Number").value_as_number
    made = file_system(site, LustreSpec(capacity_gib=size))
    (resource,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert resource["StorageCapacity"] == {"Ref": "Size"}
    assert site.stack.resolve(made.capacity_gib) == {"Ref": "Size"}


def test_two_file_systems_live_in_one_stack(site: Site) -> None:
    arguments: dict[str, Any] = {
        "vpc": site.vpc,
        "subnet": site.subnet,
        "clients": site.cluster.cluster_security_group,
        "bucket": s3.Bucket(site.stack, "Bucket"),
    }
    for name in ("First", "Second"):
        LustreFileSystem(site.stack, name, **arguments)
    site.template().resource_count_is("AWS::FSx::FileSystem", 2)


@pytest.mark.parametrize(("spec", "told"), [({"efa": True}, "{'efa': True}"), ({}, "{}"), ("1200", "'1200'")])
def test_a_spec_of_another_type(spec: Any, told: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        file_system(site, spec)
    assert str(caught.value) == f"'spec' is {told}; give LustreSpec(...)"
