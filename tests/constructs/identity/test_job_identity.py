import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.constructs.keyword import problems_of
from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import TrainingBucket, TrainingCluster, TrainingKey
from training_cluster.identity.folder_access import Folder
from training_cluster.identity.job_identity import JobIdentity
from training_workloads import InputError


def identity(site: Site, bucket: s3.IBucket | None = None, **arguments: Any) -> JobIdentity:
    bucket = bucket or s3.Bucket.from_bucket_name(site.stack, "Bucket", "data")
    given: dict[str, Any] = {"prefix": "runs/resnet50", "service_account": "resnet50", **arguments}
    return JobIdentity(site.stack, "Identity", cluster=site.cluster, bucket=bucket, **given)


def statements(site: Site, made: JobIdentity) -> list[dict[str, Any]]:
    role = site.stack.resolve(made.role.role_name)
    policies = [each for each in properties(site.template(), "AWS::IAM::Policy") if role in each["Roles"]]
    return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]


def last(arn: dict[str, Any]) -> str:
    return str(arn["Fn::Join"][1][-1])


def test_the_job_reads_and_writes_its_prefix_only(site: Site) -> None:
    objects, listing = statements(site, identity(site))
    assert objects["Action"] == [
        "s3:GetObject",
        "s3:PutObject",
        "s3:AbortMultipartUpload",
        "s3:ListMultipartUploadParts",
    ]
    assert last(objects["Resource"]) == ":s3:::data/runs/resnet50/*"
    assert listing["Action"] == "s3:ListBucket"
    assert last(listing["Resource"]) == ":s3:::data"
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["runs/resnet50", "runs/resnet50/*"]}}


def test_allow_delete_adds_the_permission(site: Site) -> None:
    objects, _ = statements(site, identity(site, allow_delete=True))
    assert "s3:DeleteObject" in objects["Action"]


def test_the_whole_bucket_is_a_slash(site: Site) -> None:
    objects, listing = statements(site, identity(site, prefix="/"))
    assert last(objects["Resource"]) == ":s3:::data/*"
    assert "Condition" not in listing


def test_the_buckets_key_is_used_through_s3_only(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    bucket = s3.Bucket(site.stack, "Encrypted", encryption=s3.BucketEncryption.KMS, encryption_key=key)
    *_, decryption = statements(site, identity(site, bucket=bucket))
    assert decryption["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert decryption["Resource"] == site.stack.resolve(key.key_arn)
    via = decryption["Condition"]["StringEquals"]["kms:ViaService"]["Fn::Join"][1]
    assert via == ["s3.", {"Ref": "AWS::Region"}, ".", {"Ref": "AWS::URLSuffix"}]


def test_it_belongs_to_one_service_account(site: Site) -> None:
    identity(site, namespace="research")
    template = site.template()
    (association,) = properties(template, "AWS::EKS::PodIdentityAssociation")
    assert (association["Namespace"], association["ServiceAccount"]) == ("research", "resnet50")
    (resource,) = template.find_resources("Custom::AWSCDK-EKS-KubernetesResource").values()
    (document,) = json.loads(resource["Properties"]["Manifest"])
    assert document["metadata"].pop("labels")
    check_manifest(document)
    assert document["metadata"] == {"name": "resnet50", "namespace": "research"}
    assert document["automountServiceAccountToken"] is False
    assert set(template.find_resources("AWS::EKS::PodIdentityAssociation")) <= set(resource["DependsOn"])


def test_a_bucket_of_another_stack(site: Site) -> None:
    data = cdk.Stack(cdk.App.of(site.stack), "Data")
    identity(site, bucket=s3.Bucket(data, "Bucket"))
    assertions.Template.from_stack(site.stack).resource_count_is("AWS::EKS::PodIdentityAssociation", 1)


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("", "'prefix' is ''; give a folder of the bucket, such as runs/resnet50, or / for all"),
        ("  ", "'prefix' is '  '; give a folder of the bucket, such as runs/resnet50, or / for all"),
        (
            "runs/*",
            "'prefix' is 'runs/*', but IAM reads * as a wildcard or a variable; give the name of a folder",
        ),
        ("s3://b/runs", "'prefix' is 's3://b/runs'; give the folder without s3://b/: runs"),
        ("s3://b", "'prefix' is 's3://b'; give the folder without s3://b, such as runs"),
        (
            "arn:aws:s3:::b/runs/*",
            "'prefix' is 'arn:aws:s3:::b/runs/*'; give the folder without arn:aws:s3:::b/: runs/*",
        ),
        (
            "arn:aws:iam::111122223333:role/Admin",
            "'prefix' is 'arn:aws:iam::111122223333:role/Admin', but that is an ARN; give a folder of the bucket, such "
            "as runs",
        ),
        ("a//b", "'prefix' is 'a//b', but a folder between // has no name; give a/b"),
        ("//", "'prefix' is '//', but a folder between // has no name; give runs"),
        ("../x", "'prefix' is '../x', but S3 has no '.' and '..'; give the folder's whole name, such as runs"),
        (
            "${aws:username}",
            "'prefix' is '${aws:username}', but IAM reads $ as a wildcard or a variable; give the name of a folder",
        ),
    ],
)
def test_rejects_a_prefix_that_is_no_folder(prefix: str, message: str) -> None:
    assert [str(problem) for problem in problems_of(Folder, prefix, "prefix")] == [message]


@pytest.mark.parametrize("argument", ["service_account", "namespace"])
def test_rejects_a_name_that_kubernetes_does_not_allow(argument: str, site: Site) -> None:
    arguments: dict[str, Any] = {argument: "My_Job"}
    with pytest.raises(InputError) as caught:
        identity(site, **arguments)
    assert [problem.path for problem in caught.value.problems] == [(argument,)]


@pytest.mark.parametrize("prefix", ["/", "/runs", "runs/", "runs/.hidden", cdk.Token.as_string({"Ref": "Folder"})])
def test_allows_the_usual_spellings_of_a_folder(prefix: str) -> None:
    assert not problems_of(Folder, prefix)


def test_reports_all_problems_together(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        identity(site, allow_delete="no", prefix="")
    assert [problem.path for problem in caught.value.problems] == [("prefix",), ("allow_delete",)]


def test_it_is_a_grantee(site: Site) -> None:
    key = kms.Key(site.stack, "Key")
    datasets = s3.Bucket(site.stack, "Datasets", encryption=s3.BucketEncryption.KMS, encryption_key=key)
    made = identity(site)
    datasets.grant_read(made)
    *_, read, decrypt = statements(site, made)
    assert read["Action"] == ["s3:GetObject*", "s3:GetBucket*", "s3:List*"]
    assert "kms:Decrypt" in decrypt["Action"]
    assert decrypt["Resource"] == site.stack.resolve(key.key_arn)


def test_it_uses_our_bucket_and_its_key(site: Site) -> None:
    key = TrainingKey(site.stack, "Key")
    made = identity(site, bucket=TrainingBucket(site.stack, "Data", encryption_key=key))
    *_, decryption = statements(site, made)
    assert decryption["Resource"] == site.stack.resolve(key.key_arn)


def test_it_is_created_after_the_network_add_ons_of_our_cluster(site: Site) -> None:
    cluster = TrainingCluster(site.stack, "Ours", vpc=site.vpc)
    bucket = s3.Bucket.from_bucket_name(site.stack, "Bucket", "data")
    JobIdentity(site.stack, "Identity", cluster=cluster, bucket=bucket, prefix="/", service_account="a")
    template = site.template()
    addons = template.find_resources("AWS::EKS::Addon")
    ((_, association),) = (
        (id, each)
        for id, each in template.find_resources("AWS::EKS::PodIdentityAssociation").items()
        if id.startswith("Identity")
    )
    assert {addons[id]["Properties"]["AddonName"] for id in association["DependsOn"] if id in addons} >= {
        "eks-pod-identity-agent"
    }


def test_rejects_the_name_of_a_bucket(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        identity(site, bucket="my-data")  # type: ignore[arg-type]
    assert [problem.path for problem in caught.value.problems] == [("bucket",)]
