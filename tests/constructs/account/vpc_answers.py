"""Answers about the resources in a VPC."""

from collections.abc import Sequence
from typing import Any

from tests.constructs.account.stubbed_account import StubbedAccount

VPC = "vpc-0123456789abcdef0"


def interface(
    id: str, description: str, status: str = "available", tags: dict[str, str] | None = None, instance: str = ""
) -> dict[str, Any]:
    """Return a network interface, as EC2 describes it."""
    attachment = {"Attachment": {"InstanceId": instance}} if instance else {}
    return {
        "NetworkInterfaceId": id,
        "Description": description,
        "Status": status,
        "TagSet": _pairs(tags or {}),
        **attachment,
    }


def answer_vpc(
    account: StubbedAccount,
    *,
    cluster: str | None = "",
    endpoints: Sequence[dict[str, Any]] = (),
    interfaces: Sequence[dict[str, Any]] = (),
    groups: Sequence[dict[str, Any]] = (),
) -> None:
    """Say what is in the VPC, after whether its cluster exists: empty where the stack never had one, None: deleted."""
    if cluster is None:
        account.forbid("eks", "describe_cluster", code="ResourceNotFoundException")
    elif cluster:
        account.answer("eks", "describe_cluster", {"cluster": {"name": cluster}}, {"name": cluster})
    only = {"Filters": [{"Name": "vpc-id", "Values": [VPC]}]}
    account.answer("ec2", "describe_vpc_endpoints", {"VpcEndpoints": _tagged(endpoints)}, only)
    account.answer("ec2", "describe_network_interfaces", {"NetworkInterfaces": list(interfaces)}, only)
    account.answer("ec2", "describe_security_groups", {"SecurityGroups": _tagged(groups)}, only)


def _tagged(resources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**each, "Tags": _pairs(each.get("Tags", {}))} for each in resources]


def _pairs(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
