"""Parameters of Systems Manager, in which AWS and the CDK publish versions."""

from training_cluster.account.account_requests import Account
from training_workloads.aws.errors import RejectionError

__all__ = ["find_parameter"]

_NOT_FOUND = "ParameterNotFound"


def find_parameter(account: Account, name: str) -> str | None:
    """Return the value of a parameter; None if the region has none of this name."""
    try:
        return str(account.ask("ssm", "get_parameter", Name=name)["Parameter"]["Value"])
    except RejectionError as error:
        if error.code != _NOT_FOUND:
            raise
        return None
