import pytest
from aws_cdk import Token
from aws_cdk import aws_iam as iam

from tests.constructs.site import Site, properties
from training_cluster import PodRole
from training_workloads import InputError


def test_only_pods_of_this_cluster_assume_the_role(site: Site) -> None:
    PodRole(site.stack, "Role", cluster=site.cluster, namespace="jobs", service_account="trainer")
    made = site.template()
    ((cluster_id, _),) = made.find_resources("AWS::EKS::Cluster").items()
    roles = [role["AssumeRolePolicyDocument"]["Statement"] for role in properties(made, "AWS::IAM::Role")]
    ((statement,),) = [role for role in roles if role[0]["Principal"] == {"Service": "pods.eks.amazonaws.com"}]
    assert statement["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert statement["Condition"] == {
        "StringEquals": {
            "aws:SourceAccount": {"Ref": "AWS::AccountId"},
            "aws:RequestTag/eks-cluster-name": {"Ref": cluster_id},
            "aws:RequestTag/kubernetes-namespace": "jobs",
            "aws:RequestTag/kubernetes-service-account": "trainer",
        }
    }


def test_the_service_account_is_bound_to_it(site: Site) -> None:
    PodRole(site.stack, "Role", cluster=site.cluster, namespace="jobs", service_account="trainer")
    (association,) = properties(site.template(), "AWS::EKS::PodIdentityAssociation")
    assert (association["Namespace"], association["ServiceAccount"]) == ("jobs", "trainer")


def test_it_is_a_role_and_a_grantee(site: Site) -> None:
    role = PodRole(site.stack, "Role", cluster=site.cluster, namespace="jobs", service_account="trainer")
    assert isinstance(role, iam.Role)
    role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name("ReadOnlyAccess"))
    roles = properties(site.template(), "AWS::IAM::Role")
    assert [each["ManagedPolicyArns"][0]["Fn::Join"][1][-1] for each in roles if "ManagedPolicyArns" in each].count(
        ":iam::aws:policy/ReadOnlyAccess"
    ) == 1


def test_rejects_names_that_kubernetes_does_not_allow(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        PodRole(site.stack, "Role", cluster=site.cluster, namespace="My", service_account=None)  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("namespace",), ("service_account",)]


def test_allows_tokens_as_names(site: Site) -> None:
    name = Token.as_string({"Ref": "Name"})
    PodRole(site.stack, "Role", cluster=site.cluster, namespace=name, service_account=name)
    PodRole(site.stack, "Dots", cluster=site.cluster, namespace="jobs", service_account="my.trainer")
