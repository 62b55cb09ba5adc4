"""AWS::EC2::SecurityGroupIngress and AWS::EC2::SecurityGroupEgress."""

from functools import partial
from typing import Any

from ministack.core.responses import new_uuid
from ministack.services import ec2
from ministack.services.cloudformation import provisioners

from tests.deploy.emulated_aws.registration import Attributes, Properties, existing, register


def permissions(store: str, properties: Properties) -> Any:
    """Return the rules of the security group, and fail if it or the other side's group does not exist."""
    other = properties.get("SourceSecurityGroupId") or properties.get("DestinationSecurityGroupId")
    if other:
        existing(ec2._security_groups, other, "the other side's security group")
    return existing(ec2._security_groups, properties["GroupId"], "the security group")[store]


def create(store: str, logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Add a rule, which the group must not have."""
    rules = permissions(store, properties)
    (rule,) = provisioners._ec2_sg_permissions([properties])
    if any(ec2._strip_descriptions(each) == ec2._strip_descriptions(rule) for each in rules):
        raise ValueError(f"the specified rule already exists: {rule}")
    rules.append(rule)
    name = f"sgr-{new_uuid().replace('-', '')[:17]}"
    return name, {"Id": name}


def delete(store: str, physical_id: str, properties: Properties) -> None:
    """Remove the rule; its group may be deleted already."""
    (rule,) = provisioners._ec2_sg_permissions([properties])
    group = ec2._security_groups.get(properties["GroupId"])
    if group and rule in group[store]:
        group[store].remove(rule)


for direction, store in (("Ingress", "IpPermissions"), ("Egress", "IpPermissionsEgress")):
    register(f"AWS::EC2::SecurityGroup{direction}", create=partial(create, store), delete=partial(delete, store))
