"""The check of the account's bootstrap for the CDK."""

from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.ssm_parameters import find_parameter

__all__ = ["account_is_bootstrapped"]

# The version that the CDK's default synthesizer requires, also in each template's rule `CheckBootstrapVersion`:
# https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html
_BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
_OLDEST_BOOTSTRAP = 6


def account_is_bootstrapped(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the version of the bootstrap stack, into whose bucket `cdk deploy` uploads the assets."""
    found = find_parameter(deployment.account, _BOOTSTRAP)
    account = deployment.account.identity.split(":")[4]
    yield decided(
        "CDK bootstrap",
        found is not None and int(found) >= _OLDEST_BOOTSTRAP,
        actual=f"version {found}" if found else "none",
        needed=f"version {_OLDEST_BOOTSTRAP} or newer",
        remedy=f"run 'cdk bootstrap aws://{account}/{deployment.account.region}'",
    )
