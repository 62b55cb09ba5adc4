"""The public parameters with the newest release of EKS's AMIs, which `cdk` looks up for `ami_release: latest`."""

import re
from typing import Any

from ministack.services import ssm

#: The day in the name of every release.
NEWEST = 20261112

_NAME = re.compile(
    r"/aws/service/eks/optimized-ami/(1\.\d+)/amazon-linux-2023/x86_64/(nvidia|standard)/recommended/release_version"
)
_others = ssm._public_parameter


def _public_parameter(name: str) -> Any:
    found = _NAME.fullmatch(name)
    if found is None:
        return _others(name)
    facts = {"Name": name, "Value": f"{found[1]}.3-{NEWEST}", "Type": "String", "Version": 1}
    return {**facts, "ARN": f"arn:aws:ssm:us-east-1::parameter{name}", "LastModifiedDate": 1_800_000_000}


ssm._public_parameter = _public_parameter
