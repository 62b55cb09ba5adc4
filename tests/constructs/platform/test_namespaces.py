import json
from typing import Any

import pytest
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from training_cluster import (
    ElasticFileSystem,
    ElasticVolume,
    JobIdentity,
    LustreFileSystem,
    LustreVolume,
    Namespaces,
    TrainingCluster,
)
from training_workloads import InputError


def test_defines_all_but_the_default_namespace(site: Site) -> None:
    made = Namespaces(site.stack, "Namespaces", cluster=site.cluster, names=["research", "default", "research"])
    assert made.names == ["research"]
    manifests = properties(site.template(), "Custom::AWSCDK-EKS-KubernetesResource")
    found = {each["kind"]: each["metadata"] for manifest in manifests for each in json.loads(manifest["Manifest"])}
    restricted = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    assert found["Namespace"] == {"name": "research", "labels": restricted}
    assert found["PodDisruptionBudget"]["namespace"] == "research"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("team", "'names' is 'team'; give a list: ['team']"),
        (["My Jobs"], "'names[0]' is 'My Jobs'; give lower-case letters, digits and '-', at most 63"),
    ],
)
def test_rejects_what_is_not_a_list_of_names(names: Any, message: str, site: Site) -> None:
    with pytest.raises(InputError) as error:
        Namespaces(site.stack, "Namespaces", cluster=site.cluster, names=names)
    assert str(error.value) == message


@pytest.mark.parametrize("namespaces_first", [True, False])
def test_job_identities_wait_for_namespaces_in_any_order_of_the_calls(namespaces_first: bool, site: Site) -> None:
    cluster = TrainingCluster.from_cluster_attributes(
        site.stack, "Jobs", cluster_name="jobs", cluster_security_group_id="sg-0123456789abcdef0", vpc=site.vpc
    )
    if namespaces_first:
        cluster.add_namespaces(["team"])
    cluster.add_job_identity("train", bucket=s3.Bucket(site.stack, "Bucket"), prefix="runs", namespace="team")
    if not namespaces_first:
        cluster.add_namespaces(["team"])
    manifests = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    kinds = {json.loads(each["Properties"]["Manifest"])[0]["kind"]: id for id, each in manifests.items()}
    assert kinds["Namespace"] in manifests[kinds["ServiceAccount"]]["DependsOn"]


@pytest.mark.parametrize("namespaces_first", [True, False])
def test_constructs_alone_wait_for_the_namespaces_of_the_cluster(namespaces_first: bool, site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Training", vpc=site.vpc)
    if namespaces_first:
        cluster.add_namespaces(["team"])
    bucket, team = s3.Bucket(site.stack, "Bucket"), dict[str, Any](cluster=cluster, namespace="team")
    JobIdentity(site.stack, "Train", bucket=bucket, prefix="runs", service_account="train", **team)
    lustre = LustreFileSystem(site.stack, "Lustre", vpc=site.vpc, subnet=site.subnet)
    LustreVolume(site.stack, "LustreVolume", file_system=lustre, **team)
    shared = ElasticFileSystem(site.stack, "Efs", vpc=site.vpc)
    ElasticVolume(site.stack, "EfsVolume", file_system=shared, **team)
    if not namespaces_first:
        cluster.add_namespaces(["team"])
    manifests = site.template().find_resources("Custom::AWSCDK-EKS-KubernetesResource")
    texts = {id: json.dumps(each).replace("\\", "") for id, each in manifests.items()}
    (namespace,) = (id for id, text in texts.items() if '"kind":"Namespace","metadata":{"name":"team"' in text)
    waiting = {id[:5] for id, each in manifests.items() if namespace in each.get("DependsOn", ())}
    assert waiting == {"Train", "Lustr", "EfsVo"}


def test_rejects_a_second_construct_with_the_same_namespace(site: Site) -> None:
    Namespaces(site.stack, "Namespaces", cluster=site.cluster, names=["team"])
    with pytest.raises(InputError) as error:
        Namespaces(site.stack, "Others", cluster=site.cluster, names=["team", "default"])
    assert str(error.value) == (
        "'Site/Others' is 'a second namespace team', but Site/Namespaces owns that of the cluster; remove one "
        "of the two"
    )
