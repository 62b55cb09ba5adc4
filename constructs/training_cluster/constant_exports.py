"""Exports that a stack always has, so that no other stack decides whether it can be deployed.

CDK exports an attribute while another stack of the app refers to it. When the last reference goes, so does the export,
and CloudFormation rejects that as long as the deployed stack imports it (https://github.com/aws/aws-cdk/issues/7602).
"""

import jsii
from aws_cdk import AspectPriority, Aspects, IAspect
from constructs import Construct, IConstruct

from training_cluster.stack_order import outermost_stack

__all__ = ["export_always"]


def export_always(construct: Construct, *attributes: str) -> None:
    """Export attributes of a construct at synthesis, by the names that CDK gives the exports of references."""
    Aspects.of(construct).add(_Exports(construct, attributes), priority=AspectPriority.READONLY)


@jsii.implements(IAspect)
class _Exports:
    """Exports at synthesis: an export fixes the logical id, which the app may override until then."""

    def __init__(self, construct: Construct, attributes: tuple[str, ...]) -> None:
        self._construct, self._attributes = construct, attributes

    def visit(self, node: IConstruct) -> None:
        if node is self._construct:
            stack = outermost_stack(self._construct)
            for attribute in self._attributes:
                stack.export_value(attribute)
