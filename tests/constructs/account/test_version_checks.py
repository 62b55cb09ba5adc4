import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.version_checks import account_is_bootstrapped, ami_releases_exist

NEWEST = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/recommended/release_version"
NEWEST_SYSTEM = NEWEST.replace("nvidia", "standard")


def test_the_newest_ami_is_named() -> None:
    account = StubbedAccount()
    account.answer_parameter(NEWEST, "1.35.2-20261110")
    account.answer_parameter(NEWEST_SYSTEM, "1.35.2-20261112")
    gpu, system = ami_releases_exist(deployment(account))
    assert (gpu.check, gpu.state, gpu.actual) == ("AMI release", "ok", "1.35.2-20261110, the newest")
    assert (system.check, system.actual) == ("AMI release of the system nodes", "1.35.2-20261112, the newest")


def test_a_newest_ami_with_a_known_fault_is_rejected() -> None:
    account = StubbedAccount()
    account.answer_parameter(NEWEST, "1.35.4-20261003")
    account.answer_parameter(NEWEST_SYSTEM, "1.35.4-20261003")
    for found in ami_releases_exist(deployment(account)):
        assert (found.state, found.remedy) == ("failed", "give a release of 20261012 or later, or 'latest'")
        assert found.actual.startswith("1.35.4-20261003, the newest; it panics while the kernel reclaims memory")


def test_a_named_release_of_the_system_nodes_is_looked_up() -> None:
    account = StubbedAccount()
    account.answer_parameter(NEWEST, "1.35.2-20261110")
    name = "amazon-eks-node-al2023-x86_64-standard-1.35-v20260917"
    expected = {"Owners": ["amazon"], "Filters": [{"Name": "name", "Values": [name]}]}
    account.answer("ec2", "describe_images", {"Images": [{"ImageId": "ami-1"}]}, expected)
    pinned = deployment(account, system_nodes={"ami_release": "1.35.0-20260917"})
    _, system = ami_releases_exist(pinned)
    assert (system.state, system.actual) == ("ok", f"ami-1 ({name})")


def test_a_release_of_kubernetes_without_an_ami_is_named() -> None:
    account = StubbedAccount()
    account.stubs.reject("ssm", "get_parameter", "ParameterNotFound")
    account.answer_parameter(NEWEST_SYSTEM, "1.35.2-20261112")
    found, _ = ami_releases_exist(deployment(account))
    assert (found.state, found.remedy) == ("failed", "set another kubernetes_version")


@pytest.mark.parametrize(("images", "state"), [([{"ImageId": "ami-1"}], "ok"), ([], "failed")])
def test_a_named_release_is_looked_up(images: list[dict[str, str]], state: str) -> None:
    account = StubbedAccount()
    name = "amazon-eks-node-al2023-x86_64-nvidia-1.35-v20260917"
    expected = {"Owners": ["amazon"], "Filters": [{"Name": "name", "Values": [name]}]}
    account.answer("ec2", "describe_images", {"Images": images}, expected)
    account.answer_parameter(NEWEST_SYSTEM, "1.35.2-20261112")
    found, _ = ami_releases_exist(deployment(account, ami_release="1.35.0-20260917"))
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
