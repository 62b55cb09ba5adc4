import json
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.constructs.site import Site, properties
from tests.schemas import check_manifest
from training_cluster import ExistingCluster
from training_cluster.identity.job_identity import JobIdentity, check_prefix
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


def test_deleting_must_be_asked_for(site: Site) -> None:
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
    assert via == ["s3.", {"Ref": "AWS::Region"}, ".amazonaws.com"]


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
    data = cdk.Stack(site.stack.node.scope, "Data")
    identity(site, bucket=s3.Bucket(data, "Bucket"))
    assertions.Template.from_stack(site.stack).resource_count_is("AWS::EKS::PodIdentityAssociation", 1)


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("", "'prefix' is ''; give a folder of the bucket, such as runs/resnet50, or / for all"),
        ("  ", "'prefix' is '  '; give a folder of the bucket, such as runs/resnet50, or / for all"),
        (
            "runs/*",
            "'prefix' is 'runs/*', in which IAM reads * as a wildcard or a variable; give the name of a folder",
        ),
        ("s3://b/runs", "'prefix' is 's3://b/runs'; give the folder without s3://b/: runs"),
        ("s3://b", "'prefix' is 's3://b'; give the folder without s3://b, such as runs"),
        (
            "arn:aws:s3:::b/runs/*",
            "'prefix' is 'arn:aws:s3:::b/runs/*'; give the folder without arn:aws:s3:::b/: runs/*",
        ),
        (
            "arn:aws:iam::111122223333:role/Admin",
            "'prefix' is 'arn:aws:iam::111122223333:role/Admin', which is an ARN; give a folder of the bucket, such as "
            "runs",
        ),
        ("a//b", "'prefix' is 'a//b', with a folder without a name between // in it; give a/b"),
        ("//", "'prefix' is '//', with a folder without a name between // in it; give runs"),
        ("../x", "'prefix' is '../x', but S3 has no '.' and '..'; give the folder's whole name, such as runs"),
        (
            "${aws:username}",
            "'prefix' is '${aws:username}', in which IAM reads $ as a wildcard or a variable; give the name of a "
            "folder",
        ),
    ],
)
def test_a_prefix_that_is_no_folder(prefix: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_prefix("prefix", prefix)
    assert str(caught.value) == message


@pytest.mark.parametrize("argument", ["service_account", "namespace"])
def test_a_name_that_kubernetes_refuses(argument: str, site: Site) -> None:
    with pytest.raises(InputError) as caught:
        identity(site, **{argument: "My_Job"})
    assert str(caught.value) == f"'{argument}' is 'My_Job'; give lower-case letters, digits and '-', at most 63"


@pytest.mark.parametrize("prefix", ["/", "/runs", "runs/", "runs/.hidden", cdk.Token.as_string({"Ref": "Folder"})])
def test_a_folder_is_taken_as_people_write_it(prefix: str) -> None:
    check_prefix("prefix", prefix)


def test_a_flag_is_no_string(site: Site) -> None:
    with pytest.raises(InputError) as caught:
        identity(site, allow_delete="no")
    assert str(caught.value) == "'allow_delete' is 'no'; give True or False"


def test_a_construct_around_the_cluster_is_no_cluster(site: Site) -> None:
    existing = ExistingCluster(
        site.stack,
        "Existing",
        cluster_name="research",
        cluster_security_group_id="sg-0123456789abcdef0",
        vpc=site.vpc,
    )
    bucket = s3.Bucket.from_bucket_name(site.stack, "Bucket", "data")
    with pytest.raises(InputError) as caught:
        JobIdentity(site.stack, "Identity", cluster=existing, bucket=bucket, prefix="/", service_account="a")  # type: ignore[arg-type]
    assert str(caught.value) == "'cluster' is an ExistingCluster; give .cluster of it"
