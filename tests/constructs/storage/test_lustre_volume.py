import json
from typing import Any

from aws_cdk import CfnParameter
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site
from tests.schemas import check_manifest
from training_cluster import LustreFileSystem
from training_cluster.storage.lustre_spec import LustreSpec
from training_cluster.storage.lustre_volume import ExistingLustreFileSystem, LustreVolume


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
        file_system_id="fs-1", dns_name="fs-1.fsx.aws", mount_name="abc", capacity_gib=2400
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
    assert persistent["spec"]["csi"]["volumeHandle"] == "fs-1"
    assert persistent["spec"]["csi"]["volumeAttributes"] == {"dnsname": "fs-1.fsx.aws", "mountname": "abc"}
    assert persistent["spec"]["capacity"] == {"storage": "2400Gi"}
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("shared", "research")
    assert ownership["metadata"]["namespace"] == "research"
    site.template().resource_count_is("AWS::FSx::FileSystem", 0)


def test_a_size_known_at_deployment_reaches_the_volume(site: Site) -> None:
    size = CfnParameter(site.stack, "Size", type="Number").value_as_number
    made = new_file_system(site, LustreSpec(capacity_gib=size))
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=made)
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    after = parts[parts.index({"Ref": "Size"}) + 1]
    assert after.startswith("Gi")
