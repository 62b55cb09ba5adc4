import json
from typing import Any

import pytest
from aws_cdk import CfnParameter, Token
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import ExistingElasticFileSystem, LustreFileSystem
from training_cluster.storage.lustre_spec import LustreSpec
from training_cluster.storage.lustre_volume import ExistingLustreFileSystem, LustreVolume
from training_workloads import InputError

ID = "fs-0123456789abcdef0"
EXISTING: dict[str, Any] = {
    "file_system_id": ID,
    "dns_name": f"{ID}.fsx.us-east-1.amazonaws.com",
    "mount_name": "abcdefgh",
    "capacity_gib": 2400,
}


def new_file_system(site: Site, spec: LustreSpec | None = None) -> LustreFileSystem:
    return LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        subnet=site.subnet,
        clients=site.cluster.cluster_security_group,
        bucket=s3.Bucket(site.stack, "Bucket"),
        spec=spec,
    )


def applied(site: Site) -> dict[str, Any]:
    (manifest,) = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
    return dict(manifest)


def test_the_volume_of_a_new_file_system(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=new_file_system(site))
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    attributes = [part["Fn::GetAtt"][1] for part in parts if isinstance(part, dict) and "Fn::GetAtt" in part]
    assert attributes == ["DNSName", "LustreMountName"]
    documents = json.loads("".join(part if isinstance(part, str) else "fs" for part in parts))
    assert [document["kind"] for document in documents] == ["PersistentVolume", "PersistentVolumeClaim", "Job"]
    assert {document["metadata"].get("namespace", "none") for document in documents} == {"none", "default"}


def test_it_is_made_when_the_bucket_is_linked_and_the_ports_are_open(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=new_file_system(site))
    resources = site.template().to_json()["Resources"]
    first = [resources[id]["Type"] for id in applied(site)["DependsOn"]]
    assert "AWS::FSx::DataRepositoryAssociation" in first
    # Two port ranges: among the servers, from the clients, to the clients.
    assert first.count("AWS::EC2::SecurityGroupIngress") >= 4


def test_the_volume_of_an_existing_file_system(site: Site) -> None:
    existing = ExistingLustreFileSystem(
        file_system_id="fs-0123456789abcdef0",
        dns_name="fs-0123456789abcdef0.fsx.aws",
        mount_name="abc",
        capacity_gib=2400,
    )
    volume = LustreVolume(
        site.stack, "Volume", cluster=site.cluster, file_system=existing, claim="shared", namespace="research"
    )
    assert volume.manifest.node.path.endswith("Volume/Resource")
    documents = json.loads(applied(site)["Properties"]["Manifest"])
    for document in documents:
        # CDK labels what it may prune; everything else is as the chart made it.
        check_manifest(document)
    persistent, claim, ownership = documents
    assert persistent["spec"]["csi"]["volumeHandle"] == "fs-0123456789abcdef0"
    assert persistent["spec"]["csi"]["volumeAttributes"] == {
        "dnsname": "fs-0123456789abcdef0.fsx.aws",
        "mountname": "abc",
    }
    assert persistent["spec"]["capacity"] == {"storage": "2400Gi"}
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("shared", "research")
    assert ownership["metadata"]["namespace"] == "research"
    site.template().resource_count_is("AWS::FSx::FileSystem", 0)


def test_the_image_of_the_ownership_job_comes_from_a_mirror(site: Site) -> None:
    existing = ExistingLustreFileSystem(
        file_system_id="fs-0123456789abcdef0", dns_name="fs.example.com", mount_name="abcdefgh", capacity_gib=1200
    )
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing, mirror=mirror)
    (made,) = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    assert f"{mirror}/busybox:1.37.0" in made["Manifest"]


def test_a_second_volume_of_a_name_is_refused(site: Site) -> None:
    existing = ExistingLustreFileSystem(
        file_system_id="fs-0123456789abcdef0", dns_name="fs.example.com", mount_name="abcdefgh", capacity_gib=1200
    )
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing)
    with pytest.raises(InputError, match=r"^'Site/Other' is a second volume training-lustre in one cluster; keep that"):
        LustreVolume(site.stack, "Other", cluster=site.cluster, file_system=existing)


def test_a_size_known_at_deployment_reaches_the_volume(site: Site) -> None:
    size = CfnParameter(site.stack, "Size", type="Number").value_as_number
    made = new_file_system(site, LustreSpec(capacity_gib=size))
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=made)
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    after = parts[parts.index({"Ref": "Size"}) + 1]
    assert after.startswith("Gi")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"file_system_id": "my-lustre"},
            "'file_system_id' is 'my-lustre'; give an id such as fs-0123456789abcdef0 (aws fsx describe-file-systems)",
        ),
        (
            {"dns_name": "https://lustre"},
            "'dns_name' is 'https://lustre'; give the name alone, as DNSName of aws fsx describe-file-systems",
        ),
        (
            {"mount_name": "/fsx"},
            "'mount_name' is '/fsx'; give MountName of aws fsx describe-file-systems, at most 8 characters",
        ),
        ({"capacity_gib": "2400"}, "'capacity_gib' is '2400'; give a whole number, 1 or more"),
    ],
)
def test_values_that_no_file_system_has(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        ExistingLustreFileSystem(**EXISTING | given)
    assert caught.value.args == (message,)


def test_an_existing_file_system_that_the_deployment_knows(site: Site) -> None:
    texts = {name: Token.as_string({"Ref": name}) for name in ("file_system_id", "dns_name", "mount_name")}
    existing = ExistingLustreFileSystem(**texts, capacity_gib=Token.as_number({"Ref": "Size"}))
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing)
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    assert {part["Ref"] for part in parts if isinstance(part, dict)} == {*texts, "Size"}


@pytest.mark.parametrize(
    ("given", "messages"),
    [
        (
            {"claim": "My Claim", "namespace": "A B"},
            (
                "'claim' is 'My Claim'; give a name of lower-case letters, digits, '-' and '.', at most 253",
                "'namespace' is 'A B'; give lower-case letters, digits and '-', at most 63",
            ),
        ),
        (
            {"file_system": ExistingElasticFileSystem(file_system_id=ID, access_point_id="fsap-0123456789abcdef0")},
            (
                "'file_system' is an ExistingElasticFileSystem; give LustreFileSystem(...) or "
                "ExistingLustreFileSystem(...)",
            ),
        ),
    ],
)
def test_what_is_no_volume_of_lustre(given: dict[str, Any], messages: tuple[str, ...], site: Site) -> None:
    arguments: dict[str, Any] = {"cluster": site.cluster, "file_system": ExistingLustreFileSystem(**EXISTING)}
    with pytest.raises(InputError) as caught:
        LustreVolume(site.stack, "Volume", **arguments | given)
    assert caught.value.args == messages


def test_a_claim_that_the_deployment_names(site: Site) -> None:
    names = {name: Token.as_string({"Ref": name}) for name in ("claim", "namespace")}
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=ExistingLustreFileSystem(**EXISTING), **names)
    assert {"Ref": "namespace"} in applied(site)["Properties"]["Manifest"]["Fn::Join"][1]


def test_a_cluster_without_kubectl(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    with pytest.raises(InputError) as caught:
        LustreVolume(site.stack, "Volume", cluster=bare, file_system=ExistingLustreFileSystem(**EXISTING))
    message = "'cluster' was imported without kubectl; use ExistingCluster and give .cluster of it"
    assert str(caught.value) == message
