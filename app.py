"""The CDK app: reads the configuration and creates the stacks."""

import sys
from pathlib import Path

import aws_cdk as cdk

from stacks import TrainingClusterStack, TrainingDataStack
from training_cluster import load_config
from training_workloads import InputError

CONFIG = "cluster.yaml"


def main() -> None:
    """Synthesizes both stacks; a mistake in the configuration is a message without a traceback."""
    app = cdk.App()
    context = dict(app.node.get_all_context())
    try:
        config = load_config(Path(context.pop("config", CONFIG)), context)
    except InputError as error:
        sys.exit(f"error: {error}")
    data = TrainingDataStack(
        app, "TrainingDataStack", monthly_budget_usd=config.monthly_budget_usd, email=config.alarm_email
    )
    TrainingClusterStack(app, "TrainingClusterStack", config=config, bucket=data.bucket, encryption_key=data.key)
    app.synth()


main()
