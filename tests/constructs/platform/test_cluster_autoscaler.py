import json

import pytest
from aws_cdk import assertions

from tests.constructs.site import Site, properties
from training_cluster import ClusterAutoscaler
from training_workloads import InputError


@pytest.fixture
def made(site: Site) -> assertions.Template:
    ClusterAutoscaler(site.stack, "Autoscaler", cluster=site.cluster)
    return site.template()


def test_the_release(made: assertions.Template) -> None:
    (chart,) = properties(made, "Custom::AWSCDK-EKS-HelmChart")
    assert (chart["Chart"], chart["Release"]) == ("cluster-autoscaler", "cluster-autoscaler")
    assert chart["Repository"] == "https://kubernetes.github.io/autoscaler"
    text = "".join(part if isinstance(part, str) else "<token>" for part in chart["Values"]["Fn::Join"][1])
    values = json.loads(text)
    assert values["autoDiscovery"] == {"clusterName": "<token>"}
    digest = "aac369dc283927a623deb1af54696efcc722ae79255aa07788422e495bab887d"
    assert values["image"] == {"tag": f"v1.35.2@sha256:{digest}"}
    assert values["rbac"] == {"serviceAccount": {"name": "cluster-autoscaler"}}


def test_a_mirror_keeps_tag_and_digest_of_the_cluster_s_release(site: Site) -> None:
    mirror = "111122223333.dkr.ecr.us-west-2.amazonaws.com"
    ClusterAutoscaler(site.stack, "Autoscaler", cluster=site.cluster, kubernetes_version="1.34", mirror=mirror)
    (chart,) = properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")
    assert chart["Repository"] == f"oci://{mirror}/cluster-autoscaler"
    tag = "v1.34.5@sha256:5c3a56440ffc76eac79e7d7e840153c1fbe7b6e02d415e76a45ba2e0ef99a266"
    image = f'"image":{{"tag":"{tag}","repository":"{mirror}/cluster-autoscaler"}}'
    assert image in json.dumps(chart["Values"]).replace("\\", "")


def test_rejects_a_second_one_and_an_unknown_release(site: Site) -> None:
    ClusterAutoscaler(site.stack, "Autoscaler", cluster=site.cluster)
    with pytest.raises(
        InputError,
        match=r"^'Site/Other' is 'a second autoscaler', but Site/Autoscaler owns that of the cluster; remove one",
    ):
        ClusterAutoscaler(site.stack, "Other", cluster=site.cluster)
    with pytest.raises(
        InputError, match=r"^'kubernetes_version' is '1.20'; give the release of the cluster, in quotes"
    ):
        ClusterAutoscaler(site.stack, "Third", cluster=site.cluster, kubernetes_version="1.20")


def test_it_reads_labels_of_groups_without_nodes_from_eks(made: assertions.Template) -> None:
    # Of these eks.amazonaws.com/capacityType, which jobs and the queue's flavors select.
    (statement,) = [
        statement
        for policy in properties(made, "AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "eks:DescribeNodegroup"
    ]
    assert statement["Effect"] == "Allow"
    assert "nodegroup/" in json.dumps(statement["Resource"])


def test_it_changes_groups_of_its_cluster_only(made: assertions.Template) -> None:
    policies = [policy["PolicyDocument"]["Statement"] for policy in properties(made, "AWS::IAM::Policy")]
    (statements,) = [policy for policy in policies if "SetDesiredCapacity" in json.dumps(policy)]
    (change,) = [statement for statement in statements if "autoscaling:SetDesiredCapacity" in statement["Action"]]
    ((cluster_id, _),) = made.find_resources("AWS::EKS::Cluster").items()
    assert change["Condition"] == {"StringEquals": {"aws:ResourceTag/eks:cluster-name": {"Ref": cluster_id}}}
    reading = [action for statement in statements if statement is not change for action in [statement["Action"]]]
    assert "Set" not in json.dumps(reading)
    assert "Terminate" not in json.dumps(reading)


def test_its_service_account_gets_the_role(made: assertions.Template) -> None:
    (association,) = properties(made, "AWS::EKS::PodIdentityAssociation")
    assert (association["Namespace"], association["ServiceAccount"]) == ("kube-system", "cluster-autoscaler")


@pytest.mark.parametrize(("version", "tag"), [("1.33", "v1.33.6"), ("1.36", "v1.36.1"), ("1.39", "v1.36.1")])
def test_the_image_is_that_of_the_release_or_of_the_newest(version: str, tag: str, site: Site) -> None:
    ClusterAutoscaler(site.stack, "Autoscaler", cluster=site.cluster, kubernetes_version=version)
    (chart,) = properties(site.template(), "Custom::AWSCDK-EKS-HelmChart")
    assert f'"image":{{"tag":"{tag}' in json.dumps(chart["Values"]).replace("\\", "")
