"""FSx: its two types of resources, and the answers that describe them; no data repository task ever runs."""

import json
import time
from typing import Any

from ministack import app
from ministack.core import router
from ministack.core.responses import AccountRegionScopedDict, get_account_id, get_region, new_uuid
from ministack.services import ec2

from tests.deploy.emulated_aws.registration import Attributes, Properties, existing, register

TARGET = "AWSSimbaAPIService_v20180301"

_file_systems = AccountRegionScopedDict()
_associations = AccountRegionScopedDict()


def _arn(kind: str, name: str) -> str:
    return f"arn:aws:fsx:{get_region()}:{get_account_id()}:{kind}/{name}"


def _new(prefix: str) -> str:
    return f"{prefix}-{new_uuid().replace('-', '')[:17]}"


def create_file_system(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create a file system in a subnet and in security groups that exist."""
    (subnet,) = (existing(ec2._subnets, each, "the subnet") for each in properties["SubnetIds"])
    for group in properties["SecurityGroupIds"]:
        existing(ec2._security_groups, group, "the security group")
    name = _new("fs")
    given = {key: value for key, value in properties.items() if key != "SecurityGroupIds"}
    _file_systems[name] = given | {
        "OwnerId": get_account_id(),
        "CreationTime": int(time.time()),
        "FileSystemId": name,
        "Lifecycle": "AVAILABLE",
        "VpcId": subnet["VpcId"],
        "DNSName": f"{name}.fsx.{get_region()}.amazonaws.com",
        "ResourceARN": _arn("file-system", name),
        "LustreConfiguration": properties["LustreConfiguration"] | {"MountName": name[3:11]},
        "Tags": properties.get("Tags", []),
    }
    return name, _attributes(name)


def _attributes(name: str) -> Attributes:
    system = _file_systems[name]
    mount = system["LustreConfiguration"]["MountName"]
    return {"DNSName": system["DNSName"], "LustreMountName": mount, "ResourceARN": system["ResourceARN"]}


def update_file_system(physical_id: str, old: Properties, new: Properties) -> Attributes:
    """Change size, throughput and metadata in place. Storage never shrinks."""
    system = _file_systems[physical_id]
    if new["StorageCapacity"] < system["StorageCapacity"]:
        raise ValueError(f"StorageCapacity is {new['StorageCapacity']}, but must be above {system['StorageCapacity']}")
    mount = system["LustreConfiguration"]["MountName"]
    system["StorageCapacity"] = new["StorageCapacity"]
    system["LustreConfiguration"] = new["LustreConfiguration"] | {"MountName": mount}
    return _attributes(physical_id)


def delete_file_system(physical_id: str, properties: Properties) -> None:
    """Delete the file system and its links."""
    del _file_systems[physical_id]
    for name, link in list(_associations.items()):
        if link["FileSystemId"] == physical_id:
            del _associations[name]


def create_association(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Link a path of a file system that exists."""
    existing(_file_systems, properties["FileSystemId"], "the file system")
    name = _new("dra")
    _associations[name] = {
        "AssociationId": name,
        "ResourceARN": _arn("association", f"{properties['FileSystemId']}/{name}"),
        "Lifecycle": "AVAILABLE",
        "CreationTime": int(time.time()),
        **properties,
    }
    return name, {"AssociationId": name, "ResourceARN": _associations[name]["ResourceARN"]}


def update_association(physical_id: str, old: Properties, new: Properties) -> Attributes:
    """Change the policies in place."""
    _associations[physical_id].update(new)
    return {"AssociationId": physical_id, "ResourceARN": _associations[physical_id]["ResourceARN"]}


def delete_association(physical_id: str, properties: Properties) -> None:
    """Delete the link; with its file system it may be gone already."""
    _associations.pop(physical_id, None)


async def handle_request(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> Any:
    """Answer a request."""
    operation = headers["x-amz-target"].removeprefix(f"{TARGET}.")
    wanted = json.loads(body or b"{}")
    answers = {
        "DescribeFileSystems": ("FileSystems", _file_systems, "FileSystemIds"),
        "DescribeDataRepositoryAssociations": ("Associations", _associations, "AssociationIds"),
        "DescribeDataRepositoryTasks": ("DataRepositoryTasks", {}, "TaskIds"),
    }
    headers = {"Content-Type": "application/x-amz-json-1.1"}
    if operation not in answers:
        return 400, headers, json.dumps({"__type": "UnsupportedOperation", "message": operation}).encode()
    field, store, ids = answers[operation]
    only = [each["Values"] for each in wanted.get("Filters", []) if each["Name"] == "file-system-id"]
    found = [
        record
        for name, record in store.items()
        if name in wanted.get(ids, [name]) and all(record["FileSystemId"] in systems for systems in only)
    ]
    return 200, headers, json.dumps({field: found}).encode()


app.SERVICE_HANDLERS["fsx"] = handle_request
router.SERVICE_PATTERNS["fsx"] = {"target_prefixes": [TARGET]}

register(
    "AWS::FSx::FileSystem",
    create=create_file_system,
    update=update_file_system,
    delete=delete_file_system,
    # "Update requires: Replacement" in CloudFormation's reference of the type.
    replacing=(
        "FileSystemType",
        "KmsKeyId",
        "SecurityGroupIds",
        "StorageType",
        "SubnetIds",
        "LustreConfiguration.DeploymentType",
        "LustreConfiguration.EfaEnabled",
    ),
)
register(
    "AWS::FSx::DataRepositoryAssociation",
    create=create_association,
    update=update_association,
    delete=delete_association,
    replacing=("BatchImportMetaDataOnCreate", "DataRepositoryPath", "FileSystemId", "FileSystemPath"),
)
