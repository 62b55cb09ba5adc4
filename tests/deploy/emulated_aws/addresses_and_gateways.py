"""AWS::EC2::EIP and AWS::EC2::NatGateway."""

import re

from ministack.services import ec2

from tests.deploy.emulated_aws.registration import Attributes, Properties, answer, existing, register


def create_address(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Allocate an address; Ref is the address itself."""
    text = answer(ec2._allocate_address({"Domain": [properties.get("Domain", "vpc")]}))
    (allocation,) = re.findall(r"<allocationId>(.*?)</allocationId>", text)
    (address,) = re.findall(r"<publicIp>(.*?)</publicIp>", text)
    ec2._tags[allocation] = properties.get("Tags", [])
    return address, {"AllocationId": allocation, "PublicIp": address}


def delete_address(physical_id: str, properties: Properties) -> None:
    """Release the address, which no gateway may use any more."""
    (allocation,) = [key for key, record in ec2._addresses.items() if record["PublicIp"] == physical_id]
    for gateway in ec2._nat_gateways.values():
        if gateway["AllocationId"] == allocation and gateway["State"] != "deleted":
            raise ValueError(f"{gateway['NatGatewayId']} still uses the address {physical_id}")
    answer(ec2._release_address({"AllocationId": [allocation]}))


def create_gateway(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Create a NAT gateway in a subnet that exists, with an address that exists."""
    existing(ec2._subnets, properties["SubnetId"], "the subnet")
    existing(ec2._addresses, properties["AllocationId"], "the address")
    parameters = {"SubnetId": [properties["SubnetId"]], "AllocationId": [properties["AllocationId"]]}
    text = answer(ec2._create_nat_gateway(parameters))
    (gateway,) = re.findall(r"<natGatewayId>(.*?)</natGatewayId>", text)
    ec2._tags[gateway] = properties.get("Tags", [])
    return gateway, {"NatGatewayId": gateway}


def delete_gateway(physical_id: str, properties: Properties) -> None:
    """Delete the gateway."""
    answer(ec2._delete_nat_gateway({"NatGatewayId": [physical_id]}))


register("AWS::EC2::EIP", create=create_address, delete=delete_address)
register("AWS::EC2::NatGateway", create=create_gateway, delete=delete_gateway)
