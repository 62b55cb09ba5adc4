"""The resources of synthesized templates, by type."""

import json
import re
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk

from app import build
from setup.source_tree import ROOT
from training_cluster import load_config

__all__ = ["Template", "synthesized"]

#: The picture's instance type, with EFA: that of cluster.yaml has none.
OVERRIDES = {"node_groups.gpu.instance_type": "p4d.24xlarge"}


class Template:
    """The resources of a template."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        """Keep the resources of the template."""
        self.resources: Mapping[str, Any] = content["Resources"]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the properties of the resources of a type."""
        return [each.get("Properties", {}) for each in self.resources.values() if each["Type"] == kind]

    def one(self, kind: str) -> dict[str, Any]:
        """Return the properties of the only resource of a type."""
        (found,) = self.of(kind)
        return found

    def referenced(self, value: Any) -> dict[str, Any]:
        """Return the properties of the resource that a value refers to."""
        properties: dict[str, Any] = self.resources[value["Ref"] if "Ref" in value else value["Fn::GetAtt"][0]][
            "Properties"
        ]
        return properties

    def kept(self, kind: str) -> bool:
        """Say whether the resources of a type stay when the stack is deleted."""
        return all(each["DeletionPolicy"] == "Retain" for each in self.resources.values() if each["Type"] == kind)

    def types(self) -> set[str]:
        """Return the types of the resources."""
        return {each["Type"] for each in self.resources.values()}


def deployments(manifest: Any) -> list[str]:
    """Return the names of the Deployments in a manifest of the template."""
    text = json.dumps(manifest).replace('\\"', '"').replace('\\"', '"')
    return re.findall(r'"kind":"Deployment".*?"name":"([\w-]+)"', text)


def synthesized() -> tuple[Template, Template]:
    """Return the templates of TrainingDataStack and TrainingClusterStack."""
    assembly = build(load_config(str(ROOT / "cluster.yaml"), OVERRIDES), cdk.App()).synth()
    names = ("TrainingDataStack", "TrainingClusterStack")
    data, cluster = (Template(assembly.get_stack_by_name(name).template) for name in names)
    return data, cluster
