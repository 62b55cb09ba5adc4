"""AWS::EC2::FlowLog."""

import re

from ministack.services import cloudwatch_logs, ec2

from tests.deploy.emulated_aws.registration import Attributes, Properties, answer, existing, register


def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    """Log the traffic of a VPC into a log group that exists."""
    existing(ec2._vpcs, properties["ResourceId"], "the VPC")
    existing(cloudwatch_logs._log_groups, properties["LogGroupName"], "the log group")
    single = ("ResourceType", "TrafficType", "LogDestinationType", "LogGroupName")
    parameters = {name: [properties[name]] for name in single} | {"ResourceId.1": [properties["ResourceId"]]}
    text = answer(ec2._create_flow_logs(parameters))
    (name,) = re.findall(r"<item>(fl-.*?)</item>", text)
    ec2._tags[name] = properties.get("Tags", [])
    return name, {"Id": name}


def delete(physical_id: str, properties: Properties) -> None:
    """Delete the flow log."""
    answer(ec2._delete_flow_logs({"FlowLogId.1": [physical_id]}))


register("AWS::EC2::FlowLog", create=create, delete=delete)
