import json
import re
from collections import Counter
from typing import Any

import pytest
from aws_cdk import CfnParameter, Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import ElasticFileSystem, LustreFileSystem, LustreVolume
from training_cluster.storage.lustre_file_system import LustreFileSystemBase
from training_workloads import InputError

ID = "fs-0123456789abcdef0"
EFA: dict[str, Any] = {"efa": True, "capacity_gib": 4800, "throughput_mbps_per_tib": 1000}


def new_file_system(site: Site, **options: Any) -> LustreFileSystem:
    bucket = s3.Bucket(site.stack, "Bucket")
    return LustreFileSystem(site.stack, "Lustre", vpc=site.vpc, subnet=site.subnet, bucket=bucket, **options)


def imported(site: Site, security_group: ec2.ISecurityGroup | None = None) -> LustreFileSystemBase:
    return LustreFileSystem.from_lustre_file_system_attributes(
        site.stack,
        "Existing",
        file_system_id=ID,
        dns_name="fs-0123456789abcdef0.fsx.aws",
        mount_name="abc",
        capacity_gib=2400,
        security_group=security_group,
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


def applied(site: Site, part: str = "Volume") -> dict[str, Any]:
    manifests = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    (manifest,) = [manifest for id, manifest in manifests.items() if re.fullmatch(part + "[0-9A-F]{8}", id)]
    return dict(manifest)


def test_the_volume_of_a_new_file_system(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=new_file_system(site))
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    attributes = [part["Fn::GetAtt"][1] for part in parts if isinstance(part, dict) and "Fn::GetAtt" in part]
    assert attributes == ["DNSName", "LustreMountName"]
    documents = json.loads("".join(part if isinstance(part, str) else "fs" for part in parts))
    assert [document["kind"] for document in documents] == ["PersistentVolume", "PersistentVolumeClaim"]
    assert {document["metadata"].get("namespace", "none") for document in documents} == {"none", "default"}


def test_the_folders_are_made_in_a_namespace_without_users(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=imported(site), namespace="research")
    volume, claim, job = documents = json.loads(applied(site, "VolumeFolders")["Properties"]["Manifest"])
    for document in documents:
        check_manifest(document)
    assert volume["metadata"]["name"] == "training-lustre-training-system"
    assert [each["metadata"]["namespace"] for each in (claim, job)] == ["training-system", "training-system"]
    # That of the namespace, which stays, is applied before.
    namespace = applied(site, "VolumeNamespacetrainingsystem")
    (document,) = json.loads(namespace["Properties"]["Manifest"])
    assert document["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "baseline"
    assert namespace["DeletionPolicy"] == "Retain"
    assert any(id.startswith("VolumeNamespace") for id in applied(site, "VolumeFolders")["DependsOn"])


def test_an_update_deletes_the_job_that_was_in_the_namespace_of_the_jobs(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=imported(site))
    # kubectl deletes an object with this label that left the manifest.
    assert applied(site)["Properties"]["PruneLabel"].startswith("aws.cdk.eks/prune-")


@pytest.mark.parametrize(("options", "ingress", "egress"), [({}, 6, 0), (EFA, 9, 3)])
def test_it_waits_for_the_data_repositories_and_the_open_ports(
    site: Site, options: dict[str, Any], ingress: int, egress: int
) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=new_file_system(site, **options))
    resources = site.template().to_json()["Resources"]
    for part in ("Volume", "VolumeFolders"):
        first = Counter(resources[id]["Type"] for id in applied(site, part)["DependsOn"])
        assert first["AWS::FSx::DataRepositoryAssociation"] == 1
        # Two port ranges, and all traffic with EFA: among the servers, from the clients, to the clients.
        assert first["AWS::EC2::SecurityGroupIngress"] == ingress
        assert first["AWS::EC2::SecurityGroupEgress"] == egress


def test_opens_both_port_ranges_in_both_directions(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=new_file_system(site))
    ports = {(988, 988), (1018, 1023)}
    pairs = (("Lustre", "Lustre"), ("Lustre", "Cluste"), ("Cluste", "Lustre"))
    assert rules(site, "Ingress", "tcp") == dict.fromkeys(pairs, ports)
    assert rules(site, "Ingress", "-1") == {}
    assert rules(site, "Egress", "-1") == {}


def test_efa_opens_all_traffic_between_servers_and_clients(site: Site) -> None:
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=new_file_system(site, **EFA))
    pairs = (("Lustre", "Lustre"), ("Lustre", "Cluste"), ("Cluste", "Lustre"))
    for direction in ("Ingress", "Egress"):
        assert rules(site, direction, "-1") == {pair: {(None, None)} for pair in pairs}


def test_the_volume_of_an_imported_file_system_with_its_group(site: Site) -> None:
    group = ec2.SecurityGroup.from_security_group_id(site.stack, "Group", "sg-0123456789abcdef0")
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=imported(site, group))
    opened = [rule for rule in properties(site.template(), "AWS::EC2::SecurityGroupIngress") if "Lustre" in str(rule)]
    assert [rule["GroupId"] == "sg-0123456789abcdef0" for rule in opened].count(True) == 2
    assert [rule["SourceSecurityGroupId"] == "sg-0123456789abcdef0" for rule in opened].count(True) == 2


def test_the_volume_of_a_file_system_of_the_cdk(site: Site) -> None:
    made = fsx.LustreFileSystem(
        site.stack,
        "Lustre",
        vpc=site.vpc,
        vpc_subnet=site.subnet,
        storage_capacity_gib=2400,
        lustre_configuration={"deployment_type": fsx.LustreDeploymentType.SCRATCH_2},
    )
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=made)
    manifest = json.dumps(applied(site)["Properties"]["Manifest"])
    assert "2400Gi" in manifest
    assert "LustreMountName" in manifest
    assert rules(site, "Ingress", "tcp")[("Cluste", "Lustre")] == {(988, 988), (1018, 1023)}


def test_the_volume_of_an_imported_file_system(site: Site) -> None:
    existing = imported(site)
    volume = LustreVolume(
        site.stack, "Volume", cluster=site.cluster, file_system=existing, claim="shared", namespace="research"
    )
    assert volume.manifest.node.path.endswith("Volume/Resource")
    documents = json.loads(applied(site)["Properties"]["Manifest"])
    for document in documents:
        # CDK labels what it may prune; everything else is as the chart made it.
        check_manifest(document)
    persistent, claim = documents
    assert persistent["spec"]["csi"]["volumeHandle"] == "fs-0123456789abcdef0"
    assert persistent["spec"]["csi"]["volumeAttributes"] == {
        "dnsname": "fs-0123456789abcdef0.fsx.aws",
        "mountname": "abc",
    }
    assert persistent["spec"]["capacity"] == {"storage": "2400Gi"}
    assert (claim["metadata"]["name"], claim["metadata"]["namespace"]) == ("shared", "research")
    site.template().resource_count_is("AWS::FSx::FileSystem", 0)
    assert rules(site, "Ingress", "tcp") == {}


def test_the_image_of_the_ownership_job_comes_from_a_mirror(site: Site) -> None:
    existing = imported(site)
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing, mirror=mirror)
    assert f"{mirror}/busybox:1.37.0" in applied(site, "VolumeFolders")["Properties"]["Manifest"]


def test_rejects_an_invalid_mirror(site: Site) -> None:
    with pytest.raises(InputError, match=r"'mirror' is 'docker\.io/x'"):
        LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=imported(site), mirror="docker.io/x")


def test_rejects_a_second_volume_of_a_name(site: Site) -> None:
    existing = imported(site)
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing)
    with pytest.raises(InputError, match=r"second volume training-lustre"):
        LustreVolume(site.stack, "Other", cluster=site.cluster, file_system=existing)


def test_a_token_as_capacity_reaches_the_volume(site: Site) -> None:
    size = CfnParameter(site.stack, "Size", type="Number").value_as_number
    made = new_file_system(site, capacity_gib=size)
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=made)
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    after = parts[parts.index({"Ref": "Size"}) + 1]
    assert after.startswith("Gi")


def test_allows_tokens_as_attributes(site: Site) -> None:
    texts: dict[str, Any] = {
        name: Token.as_string({"Ref": name}) for name in ("file_system_id", "dns_name", "mount_name")
    }
    existing = LustreFileSystem.from_lustre_file_system_attributes(
        site.stack, "Existing", **texts, capacity_gib=Token.as_number({"Ref": "Size"})
    )
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=existing)
    parts = applied(site)["Properties"]["Manifest"]["Fn::Join"][1]
    assert {part["Ref"] for part in parts if isinstance(part, dict)} == {*texts, "Size"}


def test_allows_tokens_as_names(site: Site) -> None:
    names = {name: Token.as_string({"Ref": name}) for name in ("claim", "namespace")}
    LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=imported(site), **names)
    assert {"Ref": "namespace"} in applied(site)["Properties"]["Manifest"]["Fn::Join"][1]


def test_rejects_names_that_kubernetes_does_not_allow(site: Site) -> None:
    with pytest.raises(InputError, match=r"'claim' is 'My Claim'.*\n.*'namespace' is 'A B'"):
        LustreVolume(
            site.stack, "Volume", cluster=site.cluster, file_system=imported(site), claim="My Claim", namespace="A B"
        )


def test_rejects_another_kind_of_file_system(site: Site) -> None:
    efs = ElasticFileSystem.from_elastic_file_system_attributes(
        site.stack, "Efs", file_system_id=ID, access_point_id="fsap-0123456789abcdef0"
    )
    with pytest.raises(InputError) as caught:
        LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=efs)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "'file_system' is an ImportedElasticFileSystem; give a LustreFileSystem, or import one with "
        "LustreFileSystem.from_lustre_file_system_attributes"
    )


def test_rejects_an_import_of_the_cdk_without_a_mount_name(site: Site) -> None:
    group = ec2.SecurityGroup.from_security_group_id(site.stack, "Group", "sg-0123456789abcdef0")
    bare = fsx.LustreFileSystem.from_lustre_file_system_attributes(
        site.stack, "Bare", dns_name="fs.example.com", file_system_id=ID, security_group=group
    )
    with pytest.raises(InputError) as caught:
        LustreVolume(site.stack, "Volume", cluster=site.cluster, file_system=bare)  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("file_system",)]


def test_rejects_a_cluster_without_kubectl(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(site.stack, "Bare", cluster_name="research")
    with pytest.raises(InputError, match="without kubectl"):
        LustreVolume(site.stack, "Volume", cluster=bare, file_system=imported(site))


def test_rejects_a_cluster_without_its_security_group(site: Site) -> None:
    bare = eks.Cluster.from_cluster_attributes(
        site.stack, "Bare", cluster_name="research", kubectl_provider=site.cluster.kubectl_provider
    )
    with pytest.raises(InputError) as caught:
        LustreVolume(site.stack, "Volume", cluster=bare, file_system=new_file_system(site))
    assert str(caught.value) == (
        "'cluster' is 'research', but it was imported without its security group, and the file system's ports are "
        "closed to its nodes; import it with TrainingCluster.from_cluster_attributes"
    )
