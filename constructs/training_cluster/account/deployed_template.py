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
    """Reads a template in YAML; the functions of CloudFormation, such as !Ref and !Sub, are None."""


_TemplateLoader.add_multi_constructor("!", lambda loader, suffix, node: None)


def deployed_template(account: Account, name: str) -> Mapping[str, Any]:
    """Return the template of a stack; boto3 parses JSON, and returns YAML as text."""
    found = account.ask("cloudformation", "get_template", StackName=name, TemplateStage="Original")["TemplateBody"]
    template: Mapping[str, Any] = yaml.load(found, _TemplateLoader) if isinstance(found, str) else found
    return template
