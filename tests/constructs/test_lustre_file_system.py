import json
from typing import Any

import pytest
from aws_cdk import Token
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from training_cluster import LustreFileSystem, LustreSpec, LustreVolume
from training_workloads import InputError


def file_system(site: Site, spec: LustreSpec | None = None) -> LustreFileSystem:
    return LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
        clients=site.cluster.cluster_security_group,
        bucket=s3.Bucket(site.stack, "Bucket"),
        spec=spec,
    )


def test_a_persistent_file_system_on_ssd(site: Site) -> None:
    file_system(site, LustreSpec(capacity_gib=4800, throughput_mbps_per_tib=500))
    (made,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert made["FileSystemTypeVersion"] == "2.15"
    assert (made["StorageType"], made["StorageCapacity"]) == ("SSD", 4800)
    assert made["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 500,
        "DataCompressionType": "LZ4",
    }
    assert len(made["SubnetIds"]) == 1


def test_the_smallest_by_default(site: Site) -> None:
    file_system(site)
    (made,) = properties(site.template(), "AWS::FSx::FileSystem")
    assert made["StorageCapacity"] == 1200
    assert made["LustreConfiguration"]["PerUnitStorageThroughput"] == 125


def test_the_bucket_is_its_root_and_deletions_stay_on_lustre(site: Site) -> None:
    file_system(site)
    (link,) = properties(site.template(), "AWS::FSx::DataRepositoryAssociation")
    assert link["FileSystemPath"] == "/"
    assert link["BatchImportMetaDataOnCreate"] is True
    assert link["S3"] == {
        "AutoImportPolicy": {"Events": ["NEW", "CHANGED"]},
        "AutoExportPolicy": {"Events": ["NEW", "CHANGED"]},
    }


def test_both_port_ranges_are_open_in_both_directions(site: Site) -> None:
    file_system(site)
    rules = properties(site.template(), "AWS::EC2::SecurityGroupIngress")
    lustre = [rule for rule in rules if rule.get("FromPort") in (988, 1018)]
    directions: dict[tuple[str, str], set[tuple[int, int]]] = {}
    for rule in lustre:
        names = tuple(rule[end]["Fn::GetAtt"][0][:6] for end in ("SourceSecurityGroupId", "GroupId"))
        directions.setdefault(names, set()).add((rule["FromPort"], rule["ToPort"]))
    ports = {(988, 988), (1018, 1023)}
    assert directions == {("Lustre", "Lustre"): ports, ("Cluste", "Lustre"): ports, ("Lustre", "Cluste"): ports}


def test_the_servers_reach_each_other_before_the_file_system_is_made(site: Site) -> None:
    file_system(site)
    template = site.template()
    rules = template.find_resources("AWS::EC2::SecurityGroupIngress")
    between_servers = {
        id
        for id, rule in rules.items()
        if rule["Properties"]["GroupId"] == rule["Properties"].get("SourceSecurityGroupId")
        and rule["Properties"].get("FromPort") in (988, 1018)
    }
    (made,) = template.find_resources("AWS::FSx::FileSystem").values()
    assert len(between_servers) == 2
    assert between_servers <= set(made["DependsOn"])


def test_the_volume_is_made_when_the_bucket_is_linked(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=file_system(site))
    template = site.template()
    (manifest,) = template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
    (link_id,) = template.find_resources("AWS::FSx::DataRepositoryAssociation")
    assert link_id in manifest["DependsOn"]
    parts = manifest["Properties"]["Manifest"]["Fn::Join"][1]
    attributes = [part["Fn::GetAtt"][1] for part in parts if isinstance(part, dict) and "Fn::GetAtt" in part]
    assert attributes == ["DNSName", "LustreMountName"]
    text = "".join(part if isinstance(part, str) else "fs" for part in parts)
    assert [document["kind"] for document in json.loads(text)] == ["PersistentVolume", "PersistentVolumeClaim", "Job"]


@pytest.mark.parametrize("capacity", [1200, 2400, 4800, 24000])
def test_sizes_that_lustre_offers(capacity: int) -> None:
    assert LustreSpec(capacity_gib=capacity).capacity_gib == capacity


@pytest.mark.parametrize(("capacity", "suggestion"), [(1000, 1200), (1201, 2400), (3600, 4800)])
def test_a_size_that_lustre_does_not_offer(capacity: int, suggestion: int) -> None:
    with pytest.raises(InputError) as caught:
        LustreSpec(capacity_gib=capacity)
    assert str(caught.value) == (
        f"'capacity_gib' is {capacity}, which Lustre does not offer; "
        f"give 1200 or a multiple of 2400, such as {suggestion}"
    )


@pytest.mark.parametrize(
    ("capacity", "message"),
    [(0, "'capacity_gib' is 0; give 1 or more"), ("1200", "'capacity_gib' is '1200'; give a whole number, 1 or more")],
)
def test_what_is_no_size(capacity: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        LustreSpec(capacity_gib=capacity)
    assert str(caught.value) == message


def test_a_throughput_that_lustre_does_not_offer() -> None:
    with pytest.raises(InputError, match=r"^'throughput_mbps_per_tib' is 200; give one of 125, 250, 500, 1000$"):
        LustreSpec(throughput_mbps_per_tib=200)


def test_a_size_known_at_deployment_leaves_the_throughput_checked() -> None:
    size = Token.as_number({"Ref": "Size"})
    assert LustreSpec(capacity_gib=size).capacity_gib == size
    with pytest.raises(InputError, match="'throughput_mbps_per_tib' is 1"):
        LustreSpec(capacity_gib=size, throughput_mbps_per_tib=1)


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
