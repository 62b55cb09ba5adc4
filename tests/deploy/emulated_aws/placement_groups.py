"""AWS::EC2::PlacementGroup."""

from ministack.services import ec2
from ministack.services.cloudformation import provisioners

from tests.deploy.emulated_aws.registration import Attributes, Properties, answer, register


def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create a placement group."""
    name = provisioners._physical_name(stack_name, logical_id, max_len=255)
    answer(ec2._create_placement_group({"GroupName": [name], "Strategy": [properties["Strategy"]]}))
    ec2._tags[ec2._placement_groups[name]["GroupId"]] = properties.get("Tags", [])
    return name, {"GroupName": name}


def delete(physical_id: str, properties: Properties) -> None:
    """Delete the group."""
    answer(ec2._delete_placement_group({"GroupName": [physical_id]}))


register("AWS::EC2::PlacementGroup", create=create, delete=delete)
