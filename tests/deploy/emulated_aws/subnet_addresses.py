"""EC2 rejects a subnet whose addresses another one of its VPC has; the emulator makes it."""

from ipaddress import ip_network
from typing import Any

from ministack.services import ec2
from ministack.services.cloudformation import provisioners

from tests.deploy.emulated_aws.registration import Attributes, Properties

_create = provisioners._ec2_subnet_create


def create_subnet(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create a subnet; fail as EC2 does where one that exists has a part of its addresses."""
    wanted, vpc = properties["CidrBlock"], properties["VpcId"]
    for other in _of_vpc(vpc):
        if ip_network(wanted).overlaps(ip_network(other["CidrBlock"])):
            raise ValueError(f"The CIDR '{wanted}' conflicts with another subnet ({other['SubnetId']})")
    created: tuple[str, Attributes] = _create(logical_id, properties, stack_name)
    return created


def _of_vpc(vpc: str) -> list[dict[str, Any]]:
    return [each for each in ec2._subnets.values() if each["VpcId"] == vpc]


# A replacement calls the function by its name, a creation calls the handler.
provisioners._ec2_subnet_create = create_subnet
provisioners._RESOURCE_HANDLERS["AWS::EC2::Subnet"]["create"] = create_subnet
