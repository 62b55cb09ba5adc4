import pytest

from tests.workloads.sagemaker.sagemaker_samples import GROUP, OUTPUTS, ROLE, SUBNET
from training_workloads.sagemaker.place import Place
from training_workloads.validation import InputError


def changed(place: Place, **given: str) -> Place:
    return place.changed(**{"role": None, "bucket": None, "subnets": None, "security_groups": None, **given})


def test_the_outputs_of_the_stack_say_everything() -> None:
    place = Place.of_stack(OUTPUTS)
    place.check()
    assert place.subnets == (SUBNET, "subnet-0123456789abcdef1")
    assert place.lustre_folder is None
    lustre = {"LustreFileSystemId": "fs-0123456789abcdef0", "LustreMountName": "abcdefgh"}
    assert Place.of_stack(OUTPUTS | lustre).lustre_folder == "fs-0123456789abcdef0:/abcdefgh"


def test_an_option_goes_before_an_output() -> None:
    lustre = {"LustreFileSystemId": "fs-0123456789abcdef0", "LustreMountName": "abcdefgh"}
    place = Place.of_stack(OUTPUTS | lustre)
    assert changed(place, role=f"{ROLE}2").role == f"{ROLE}2"
    assert changed(place, role=f"{ROLE}2").lustre_folder == "fs-0123456789abcdef0:/abcdefgh"
    # Lustre mirrors the stack's bucket.
    other = changed(place, bucket="other", subnets=f"{SUBNET}, {SUBNET}")
    assert (other.bucket, other.subnets, other.lustre_folder) == ("other", (SUBNET, SUBNET), None)


def test_the_tag_of_the_stack_is_that_of_every_job() -> None:
    place = Place.of_stack(OUTPUTS | {"JobTag": "StackTraining8D1A"})
    assert (place.job_tag, changed(place, role=f"{ROLE}2").job_tag) == ("StackTraining8D1A", "StackTraining8D1A")
    # A stack of before has none.
    assert Place.of_stack(OUTPUTS).job_tag is None


def test_the_key_of_the_stack_is_for_its_role_and_its_bucket() -> None:
    key = "arn:aws:kms:us-west-2:111122223333:key/1"
    place = Place.of_stack(OUTPUTS | {"KeyArn": key})
    assert (place.key, changed(place, subnets=SUBNET, security_groups=GROUP).key) == (key, key)
    assert (changed(place, role=f"{ROLE}2").key, changed(place, bucket="other").key) == (None, None)


def test_the_folder_of_the_stacks_role_is_not_that_of_another() -> None:
    place = Place.of_stack(OUTPUTS | {"DataPrefix": "datasets/"})
    assert (place.data_prefix, changed(place, subnets=SUBNET, security_groups=GROUP).data_prefix) == ("datasets",) * 2
    assert (changed(place, role=f"{ROLE}2").data_prefix, changed(place, bucket="other").data_prefix) == (None, None)
    # The whole bucket.
    assert Place.of_stack(OUTPUTS | {"DataPrefix": "/"}).data_prefix == ""


def test_every_mistake_is_named_at_once() -> None:
    with pytest.raises(InputError) as raised:
        changed(Place.of_stack({}), bucket="s3://b", subnets="vpc-1").check()
    assert [str(problem) for problem in raised.value.problems] == [
        "'role' is missing; give the ARN of a role that SageMaker may assume",
        "'bucket' is 's3://b'; give the name of a bucket, without s3://",
        "'subnets' is 'vpc-1'; give an id such as subnet-0123456789abcdef0 (aws ec2 describe-subnets)",
        "'security_groups' is missing, but a VPC needs both subnets and security groups; give it, or omit the other "
        "one",
    ]


def test_a_network_needs_subnets_too() -> None:
    with pytest.raises(InputError, match="'subnets' is missing, but a VPC needs both"):
        changed(Place.of_stack({}), role=ROLE, bucket="bucket", security_groups=GROUP).check()
