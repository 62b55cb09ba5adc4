"""AWS::SageMaker::NotebookInstance, and the answer that describes one: the emulator has nothing of SageMaker."""

import json
from typing import Any

from ministack import app
from ministack.core import router
from ministack.core.responses import AccountRegionScopedDict, get_account_id, get_region
from ministack.services import ec2, iam
from ministack.services.cloudformation import provisioners

from tests.deploy.emulated_aws.registration import Attributes, Properties, existing, register

_TARGET = "SageMaker"

#: The answer's names of properties that have others in a template.
_ANSWERED = {"SecurityGroupIds": "SecurityGroups", "LifecycleConfigName": "NotebookInstanceLifecycleConfigName"}

_notebooks = AccountRegionScopedDict()


def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create a notebook instance in a subnet, with security groups and a role that exist."""
    existing(ec2._subnets, properties["SubnetId"], "the subnet")
    for group in properties["SecurityGroupIds"]:
        existing(ec2._security_groups, group, "the security group")
    existing(iam._roles, properties["RoleArn"].rpartition("/")[2], "the role")
    name = properties.get("NotebookInstanceName") or provisioners._physical_name(stack_name, logical_id, max_len=63)
    arn = f"arn:aws:sagemaker:{get_region()}:{get_account_id()}:notebook-instance/{name}"
    answered = {_ANSWERED.get(key, key): value for key, value in properties.items()}
    _notebooks[arn] = {
        **answered,
        "NotebookInstanceArn": arn,
        "NotebookInstanceName": name,
        "NotebookInstanceStatus": "InService",
    }
    return arn, {"NotebookInstanceName": name}


def delete(physical_id: str, properties: Properties) -> None:
    """Delete the notebook instance."""
    _notebooks.pop(physical_id, None)


async def handle_request(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> Any:
    """Answer a request."""
    operation = headers["x-amz-target"].removeprefix(f"{_TARGET}.")
    wanted = json.loads(body or b"{}")
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    named = [each for each in _notebooks.values() if each["NotebookInstanceName"] == wanted.get("NotebookInstanceName")]
    if operation == "ListNotebookInstances":
        return 200, headers, json.dumps({"NotebookInstances": list(_notebooks.values())}).encode()
    if operation == "DescribeNotebookInstance" and named:
        return 200, headers, json.dumps(named[0]).encode()
    return 400, headers, json.dumps({"__type": "ValidationException", "message": operation}).encode()


app.SERVICE_HANDLERS["sagemaker"] = handle_request
router.SERVICE_PATTERNS["sagemaker"] = {"target_prefixes": [_TARGET]}

register("AWS::SageMaker::NotebookInstance", create=create, delete=delete)
