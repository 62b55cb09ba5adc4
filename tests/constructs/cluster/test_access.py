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
    ],
)
def test_addresses_that_eks_refuses(cidrs: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_public_access_cidrs("a", cidrs)
    assert str(caught.value) == message


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
        ([ROLE, ROLE], f"'a' is ['{ROLE}', '{ROLE}']; give each ARN once"),
    ],
)
def test_principals_that_eks_refuses(arns: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_admin_arns("a", arns)
    assert str(caught.value) == message
