import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.version_checks import account_is_bootstrapped, ami_releases_exist

NEWEST = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/release_version"


def test_the_newest_ami_is_named() -> None:
    account = StubbedAccount()
    account.answer_parameter(NEWEST, "1.35.2-20261110")
    (found,) = ami_releases_exist(deployment(account))
    assert (found.state, found.actual) == ("ok", "1.35.2-20261110, the newest")


def test_a_release_of_kubernetes_without_an_ami_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("ssm", "get_parameter", "ParameterNotFound")
    (found,) = ami_releases_exist(deployment(account))
    assert (found.state, found.remedy) == ("failed", "set another kubernetes_version")


@pytest.mark.parametrize(("images", "state"), [([{"ImageId": "ami-1"}], "ok"), ([], "failed")])
def test_a_named_release_is_looked_up(images: list[dict[str, str]], state: str) -> None:
    account = StubbedAccount()
    name = "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260917"
    expected = {"Owners": ["amazon"], "Filters": [{"Name": "name", "Values": [name]}]}
    account.answer("ec2", "describe_images", {"Images": images}, expected)
    (found,) = ami_releases_exist(deployment(account, ami_release="1.35.0-20260917"))
    assert (found.state, found.needed) == (state, "1.35.0-20260917")
    assert found.actual == (f"ami-1 ({name})" if images else f"us-west-2 has no image {name}")


@pytest.mark.parametrize(("version", "state"), [("6", "ok"), ("31", "ok"), ("5", "failed")])
def test_an_old_bootstrap_is_not_enough(version: str, state: str) -> None:
    account = StubbedAccount()
    account.answer_parameter("/cdk-bootstrap/hnb659fds/version", version)
    account.answer_identity()
    (found,) = account_is_bootstrapped(deployment(account))
    assert (found.state, found.actual) == (state, f"version {version}")


def test_an_account_that_is_not_bootstrapped_gets_the_command() -> None:
    account = StubbedAccount()
    account.stubs.reject("ssm", "get_parameter", "ParameterNotFound")
    account.answer_identity()
    (found,) = account_is_bootstrapped(deployment(account))
    assert (found.state, found.actual) == ("failed", "none")
    assert found.remedy == "run 'cdk bootstrap aws://111122223333/us-west-2'"
