"""A stack with a VPC and a cluster of CDK, and what its template has."""

from dataclasses import dataclass
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2


@dataclass
class Site:
    """A stack of another team with a VPC and a cluster."""

    stack: cdk.Stack
    vpc: ec2.Vpc
    cluster: Any
    _template: assertions.Template | None = None

    @property
    def subnet(self) -> ec2.ISubnet:
        """The first private subnet."""
        return self.vpc.private_subnets[0]

    def template(self) -> assertions.Template:
        """Return the template of the stack, which is synthesized once: CDK rejects a later change."""
        self._template = self._template or assertions.Template.from_stack(self.stack)
        return self._template


def properties(template: assertions.Template, kind: str) -> list[dict[str, Any]]:
    """Return the properties of every resource of a type."""
    return [resource["Properties"] for resource in template.find_resources(kind).values()]
