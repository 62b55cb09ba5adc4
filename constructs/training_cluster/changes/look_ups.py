"""The values that an app lacks in `cdk.context.json`, as `cdk deploy` would look them up; nothing is written."""

from typing import Any

from training_cluster.account.account_requests import Account
from training_workloads.manifests.values import mapping, sequence

__all__ = ["look_up"]


def look_up(account: Account, manifest: Any) -> dict[str, str]:
    """Return the parameters that a synthesis lacked, by the key of the context.

    Args:
        account: The account; a parameter of another one is not looked up.
        manifest: The manifest that the synthesis has written.

    Raises:
        AwsError: AWS rejects a request.
    """
    here = {"account": account.number, "region": account.region}
    found = {}
    for each in sequence(mapping(manifest).get("missing")):
        match each:
            # The CLI's name of its provider of parameters: https://docs.aws.amazon.com/cdk/v2/guide/context.html
            case {"provider": "ssm", "key": str(key), "props": {"parameterName": str(name), **props}}:
                if here.items() <= props.items():
                    found[key] = account.parameter(name)
    return {key: value for key, value in found.items() if value is not None}
