"""The resources of deployed stacks, each with the properties of its template in which every reference is resolved."""

import base64
from collections.abc import Callable
from functools import cached_property
from typing import Any

from tests.deploy.aws_account import Aws
from tests.deploy.read_back import Resource, Unknown


def _own_id(aws: Aws, physical_id: str) -> str:
    return physical_id


def _role_arn(aws: Aws, physical_id: str) -> Any:
    return aws("iam").get_role(RoleName=physical_id)["Role"]["Arn"]


def _key_arn(aws: Aws, physical_id: str) -> Any:
    return aws("kms").describe_key(KeyId=physical_id)["KeyMetadata"]["Arn"]


def _cluster_arn(aws: Aws, physical_id: str) -> Any:
    return aws("eks").describe_cluster(name=physical_id)["cluster"]["arn"]


def _cluster_group(aws: Aws, physical_id: str) -> Any:
    return aws("eks").describe_cluster(name=physical_id)["cluster"]["resourcesVpcConfig"]["clusterSecurityGroupId"]


def _latest_version(aws: Aws, physical_id: str) -> Any:
    (template,) = aws("ec2").describe_launch_templates(LaunchTemplateIds=[physical_id])["LaunchTemplates"]
    return template["LatestVersionNumber"]


def _bucket_arn(aws: Aws, physical_id: str) -> str:
    return f"arn:aws:s3:::{physical_id}"


ATTRIBUTES: dict[tuple[str, str], Callable[[Aws, str], Any]] = {
    ("AWS::EC2::PlacementGroup", "GroupName"): _own_id,
    ("AWS::EC2::SecurityGroup", "GroupId"): _own_id,
    ("AWS::EC2::LaunchTemplate", "LatestVersionNumber"): _latest_version,
    ("AWS::EKS::Cluster", "Arn"): _cluster_arn,
    ("AWS::EKS::Cluster", "ClusterSecurityGroupId"): _cluster_group,
    ("AWS::IAM::Role", "Arn"): _role_arn,
    ("AWS::KMS::Key", "Arn"): _key_arn,
    ("AWS::S3::Bucket", "Arn"): _bucket_arn,
}


class DeployedStacks:
    """What CloudFormation has deployed."""

    def __init__(self, aws: Aws, templates: dict[str, dict[str, Any]]) -> None:
        """Read the resources that the stacks have.

        Args:
            aws: Clients.
            templates: The deployed templates, by stack.
        """
        self._aws, self._templates = aws, templates
        self._ids: dict[str, dict[str, str]] = {stack: self._physical_ids(stack) for stack in templates}

    def _physical_ids(self, stack: str) -> dict[str, str]:
        pages = self._aws("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
        resources = [each for page in pages for each in page["StackResourceSummaries"]]
        return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in resources}

    @cached_property
    def _exports(self) -> dict[str, str]:
        pages = self._aws("cloudformation").get_paginator("list_exports").paginate()
        return {each["Name"]: each["Value"] for page in pages for each in page["Exports"]}

    def outputs(self, stack: str) -> dict[str, str]:
        """Return the outputs of a stack."""
        (found,) = self._aws("cloudformation").describe_stacks(StackName=stack)["Stacks"]
        return {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", [])}

    def resources(self) -> list[Resource]:
        """Return all resources of the stacks."""
        return [
            Resource(
                logical_id,
                self._ids[stack][logical_id],
                resource["Type"],
                self._resolved(stack, resource.get("Properties", {})),
            )
            for stack, template in self._templates.items()
            for logical_id, resource in template["Resources"].items()
            if logical_id in self._ids[stack]
        ]

    def missing(self) -> list[str]:
        """Return the resources of the templates that no stack has."""
        return [
            logical_id
            for stack, template in self._templates.items()
            for logical_id in template["Resources"]
            if logical_id not in self._ids[stack]
        ]

    def of_type(self, type_name: str) -> list[Resource]:
        """Return the resources of a type."""
        return [resource for resource in self.resources() if resource.type == type_name]

    def _resolved(self, stack: str, value: Any) -> Any:
        if isinstance(value, list):
            items = [self._resolved(stack, item) for item in value]
            return [item for item in items if not _is_no_value(item)]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((function, argument),) = value.items()
            if function == "Ref":
                return self._reference(stack, argument)
            if function.startswith("Fn::"):
                return self._called(stack, function, argument)
        resolved = {key: self._resolved(stack, item) for key, item in value.items()}
        return {key: item for key, item in resolved.items() if not _is_no_value(item)}

    def _reference(self, stack: str, name: str) -> Any:
        pseudo = {
            "AWS::AccountId": self._aws.account,
            "AWS::Partition": "aws",
            "AWS::Region": self._aws.region,
            "AWS::StackName": stack,
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NoValue": _NO_VALUE,
        }
        return pseudo.get(name, self._ids[stack].get(name, Unknown()))

    def _called(self, stack: str, function: str, argument: Any) -> Any:
        if function == "Fn::GetAtt":
            logical_id, attribute = argument
            type_name = self._templates[stack]["Resources"][logical_id]["Type"]
            reader = ATTRIBUTES.get((type_name, attribute))
            return reader(self._aws, self._ids[stack][logical_id]) if reader else Unknown()
        if function == "Fn::If":
            # The emulator does not know AWS::Partition in a condition, and the stacks have only conditions on it.
            return self._resolved(stack, argument[2])
        parts = self._resolved(stack, argument)
        if function == "Fn::ImportValue":
            return self._exports[parts]
        if function == "Fn::Join":
            separator, words = parts
            known = all(isinstance(word, str) for word in words)
            return separator.join(words) if known else Unknown()
        if function == "Fn::Base64":
            return base64.b64encode(parts.encode()).decode() if isinstance(parts, str) else Unknown()
        return Unknown()


_NO_VALUE = object()


def _is_no_value(value: Any) -> bool:
    return value is _NO_VALUE
