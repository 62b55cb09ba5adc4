from typing import Any

import aws_cdk as cdk
import pytest

from training_cluster.cluster.access import check_admin_arns, check_public_access_cidrs
from training_workloads import InputError

ROLE = "arn:aws:iam::111122223333:role/team/Admin"


def test_what_eks_takes() -> None:
    check_public_access_cidrs("a", ["203.0.113.7/32", "198.51.100.0/24"])
    check_admin_arns("a", [ROLE, "arn:aws-us-gov:iam::111122223333:user/me"])


@pytest.mark.parametrize(
    ("cidrs", "message"),
    [
        ("203.0.113.7/32", "'a' is '203.0.113.7/32'; give a list: [203.0.113.7/32]"),
        (["203.0.113.7"], "'a' is '203.0.113.7'; did you mean 203.0.113.7/32?"),
        (["203.0.113.7/24"], "'a' is '203.0.113.7/24'; did you mean 203.0.113.0/24?"),
        (["me"], "'a' is 'me', which is not an IPv4 range; write one like 203.0.113.7/32"),
        (
            ["10.1.0.0/16"],
            "'a' has '10.1.0.0/16', which is private; give the public addresses from which people come, and "
            "leave those inside the VPC out: they reach the API anyway",
        ),
        (
            ["0.0.0.0/0"],
            "'a' is ['0.0.0.0/0'], which is the whole internet; give the addresses from which people come, such as "
            "203.0.113.7/32, or set allow_any_address to true",
        ),
        (
            ["0.0.0.0/1", "128.0.0.0/1"],
            "'a' is ['0.0.0.0/1', '128.0.0.0/1'], which is the whole internet; give the addresses from which people "
            "come, such as 203.0.113.7/32, or set allow_any_address to true",
        ),
        (
            [f"203.0.113.{host}/32" for host in range(41)],
            "'a' has 41 ranges; give 40 or fewer, as larger ranges",
        ),
        (
            ["0.0.0.0/1", "203.0.113.7/32"],
            "'a' has 0.0.0.0/1, a large part of the internet (shorter than /8); give the addresses from which people "
            "come, such as 203.0.113.7/32, or set allow_any_address to true",
        ),
        (["203.0.113.7/0"], "'a' is '203.0.113.7/0'; write a range like 203.0.113.7/32"),
        ([None], "'a' is None, which is not an IPv4 range; write one like 203.0.113.7/32"),
        (None, "'a' is None; give a list"),
    ],
)
def test_addresses_that_eks_refuses(cidrs: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_public_access_cidrs("a", cidrs)
    assert str(caught.value) == message


def test_every_address_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        check_public_access_cidrs("a", ["10.0.0.0/8", "0.0.0.0/0", "x"])
    private, malformed, everybody = caught.value.args
    assert private.startswith("'a' has '10.0.0.0/8', which is private; ")
    assert malformed == "'a' is 'x', which is not an IPv4 range; write one like 203.0.113.7/32"
    assert everybody.startswith("'a' is ['0.0.0.0/0'], which is the whole internet; ")


def test_a_large_part_of_the_internet_only_on_purpose() -> None:
    check_public_access_cidrs("a", ["0.0.0.0/1"], allow_any_address=True)
    check_public_access_cidrs("a", ["8.0.0.0/8"])


def test_the_whole_internet_only_on_purpose() -> None:
    check_public_access_cidrs("a", ["0.0.0.0/0"], allow_any_address=True)


def test_an_address_that_is_known_at_deployment_only_is_taken() -> None:
    check_public_access_cidrs("a", [cdk.Token.as_string({"Ref": "Office"}), "203.0.113.7/32"])


@pytest.mark.parametrize(
    ("arns", "message"),
    [
        (ROLE, f"'a' is '{ROLE}'; give a list: [{ROLE}]"),
        (
            ["arn:aws:sts::111122223333:assumed-role/Admin/me"],
            "'a' has 'arn:aws:sts::111122223333:assumed-role/Admin/me', which is a session; give its role, such as "
            "arn:aws:iam::111122223333:role/Admin (with the role's path, if it has one)",
        ),
        (
            ["Admin"],
            "'a' has 'Admin'; give ARNs of IAM roles or users, such as arn:aws:iam::111122223333:role/Admin",
        ),
        (
            ["arn:aws:iam::111122223333:root"],
            "'a' has 'arn:aws:iam::111122223333:root'; give ARNs of IAM roles or users, "
            "such as arn:aws:iam::111122223333:role/Admin",
        ),
        (
            ["arn:aws:iam::111122223333:role/*"],
            "'a' has 'arn:aws:iam::111122223333:role/*'; give ARNs of IAM roles or users, such as "
            "arn:aws:iam::111122223333:role/Admin",
        ),
        (
            ["arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS"],
            "'a' has 'arn:aws:iam::111122223333:role/aws-service-role/eks.amazonaws.com/AWSServiceRoleForAmazonEKS', "
            "the role of an AWS service, which EKS does not take; give one of your own",
        ),
        (
            [None],
            "'a' has None; give ARNs of IAM roles or users, such as arn:aws:iam::111122223333:role/Admin",
        ),
        ([ROLE, ROLE], f"'a' is ['{ROLE}', '{ROLE}']; give each ARN once"),
    ],
)
def test_principals_that_eks_refuses(arns: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_admin_arns("a", arns)
    assert str(caught.value) == message


def test_every_principal_is_told_at_once() -> None:
    session = "arn:aws:sts::111122223333:assumed-role/Admin/me"
    with pytest.raises(InputError) as caught:
        check_admin_arns("a", ["Admin", session, "x", ROLE])
    assert [mistake.split(" ")[2].strip(";,") for mistake in caught.value.args] == ["'Admin'", f"'{session}'", "'x'"]


def test_a_principal_that_is_known_at_deployment_only_is_taken() -> None:
    check_admin_arns("a", [cdk.Token.as_string({"Ref": "Admin"}), ROLE])
