import pytest

from tests.constructs.account.stubbed_account import StubbedAccount, deployment
from training_cluster.account.bootstrap_checks import account_is_bootstrapped


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
