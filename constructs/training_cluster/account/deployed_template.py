"""The template of a deployed stack."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from training_cluster.account.account_requests import Account

__all__ = ["RETAINED", "deployed_template"]

#: The policies by which a resource stays without its stack, or beside its successor.
#: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-attribute-deletionpolicy.html
RETAINED: Final = ("Retain", "RetainExceptOnCreate")


class _TemplateLoader(yaml.SafeLoader):
    """Reads a template in YAML, with the short forms of CloudFormation's functions, such as !Ref and !Sub."""


def _function(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    """Return the long form of a function: `!Sub a` is `{"Fn::Sub": "a"}`."""
    if isinstance(node, yaml.MappingNode):
        value: Any = loader.construct_mapping(node, deep=True)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.ScalarNode)
        value = loader.construct_scalar(node)
    # These two have no prefix; a GetAtt in JSON is a list.
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    return {name: value.split(".", 1) if suffix == "GetAtt" and isinstance(value, str) else value}


_TemplateLoader.add_multi_constructor("!", _function)


def deployed_template(account: Account, name: str) -> Mapping[str, Any]:
    """Return the template of a stack; boto3 parses JSON, and returns YAML as text."""
    found = account.ask("cloudformation", "get_template", StackName=name, TemplateStage="Original")["TemplateBody"]
    template: Mapping[str, Any] = yaml.load(found, _TemplateLoader) if isinstance(found, str) else found
    return template
