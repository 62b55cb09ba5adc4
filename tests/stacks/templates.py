"""The stacks of each scenario, synthesized once."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions

from app import build
from training_cluster import load_config

ROOT = Path(__file__).parents[2]
SCENARIOS = {path.stem: path for path in sorted((Path(__file__).parent / "scenarios").glob("*.yaml"))}


@cache
def templates(scenario: str) -> dict[str, assertions.Template]:
    """Return the templates by stack, from a scenario's configuration file and the project's context."""
    app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
    build(load_config(SCENARIOS[scenario]), app)
    stacks = [child for child in app.node.children if isinstance(child, cdk.Stack)]
    return {stack.stack_name: assertions.Template.from_stack(stack) for stack in stacks}


def stable(value: Any) -> Any:
    """Make a template readable in a diff: manifests as trees, and no asset names, which change with each release."""
    if isinstance(value, list):
        return [stable(item) for item in value]
    if not isinstance(value, dict):
        return value
    stabilized = {key: stable(item) for key, item in value.items()}
    stabilized |= {key: "<asset>" for key in ("S3Key", "CodeSha256") if key in value}
    if "Manifest" in value:
        stabilized["Manifest"] = [_without_schemas(each) for each in json.loads(_text(value["Manifest"]))]
    return stabilized


def _without_schemas(manifest: dict[str, Any]) -> dict[str, Any]:
    """Leave out the schema of the definition: 12,000 lines, most of them from `pod_types.json`, which has tests."""
    if manifest["kind"] != "CustomResourceDefinition":
        return manifest
    versions = [version | {"schema": "<schema>"} for version in manifest["spec"]["versions"]]
    return manifest | {"spec": manifest["spec"] | {"versions": versions}}


def _text(manifest: Any) -> str:
    """Return a manifest's text, with a name for each value that only the deployment knows."""
    if isinstance(manifest, str):
        return manifest
    parts = manifest["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else "${" + json.dumps(part).replace('"', "'") + "}" for part in parts)
