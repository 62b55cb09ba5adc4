"""The values that an app lacks in `cdk.context.json`, as `cdk deploy` would look them up; nothing is written."""

import json
from pathlib import Path

from training_cluster.account.account_requests import Account

__all__ = ["look_up"]

# The CLI's name of its provider of parameters, in https://docs.aws.amazon.com/cdk/v2/guide/context.html
_PARAMETERS = "ssm"


def look_up(account: Account, assembly: Path) -> dict[str, str]:
    """Return the parameters that a synthesis lacked, by the key of the context.

    Args:
        account: The account; a parameter of another one is not looked up.
        assembly: The folder that the synthesis has written.

    Raises:
        AwsError: AWS rejects a request.
    """
    file = assembly / "manifest.json"
    missing = json.loads(file.read_text(encoding="utf-8")).get("missing", ()) if file.exists() else ()
    found = {}
    for each in missing:
        props = each["props"]
        is_here = (props.get("account"), props.get("region")) == (account.number, account.region)
        if each["provider"] == _PARAMETERS and is_here:
            found[each["key"]] = account.parameter(props["parameterName"])
    return {key: value for key, value in found.items() if value is not None}
