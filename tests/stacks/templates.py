"""Both stacks, synthesized once for each GPU type."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import assertions

from stacks import TrainingClusterStack, TrainingDataStack
from training_cluster import load_config

ROOT = Path(__file__).parents[2]
TYPES = ("p3.16xlarge", "p4d.24xlarge")


@cache
def templates(instance_type: str) -> dict[str, assertions.Template]:
    """Templates by stack, from the project's own configuration files."""
    app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
    config = load_config(ROOT / "cluster.yaml", {"node_groups.gpu.instance_type": instance_type})
    data = TrainingDataStack(app, "TrainingDataStack")
    cluster = TrainingClusterStack(app, "TrainingClusterStack", config=config, bucket=data.bucket)
    return {stack.stack_name: assertions.Template.from_stack(stack) for stack in (data, cluster)}


def stable(value: Any) -> Any:
    """Leaves out what changes with every release of aws-cdk-lib: names of asset files."""
    if isinstance(value, dict):
        return {key: "<asset>" if key in ("S3Key", "CodeSha256") else stable(item) for key, item in value.items()}
    return [stable(item) for item in value] if isinstance(value, list) else value
