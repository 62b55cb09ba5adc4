"""The CDK app: `build` defines the stacks of a configuration, for `cdk`, for the scanners and for the tests."""

import sys
from typing import Any

import aws_cdk as cdk

from stacks import TrainingClusterStack, TrainingDataStack
from training_cluster import ClusterConfig, load_config
from training_workloads import InputError

CONFIG = "cluster.yaml"


def build(config: ClusterConfig, app: cdk.App | None = None) -> cdk.App:
    """Define both stacks.

    Args:
        config: The configuration of the cluster.
        app: The app. Default: a new one.
    """
    app = app or cdk.App()
    data = TrainingDataStack(
        app, "TrainingDataStack", monthly_budget_usd=config.monthly_budget_usd, email=config.alarm_email
    )
    TrainingClusterStack(app, "TrainingClusterStack", config=config, bucket=data.bucket, encryption_key=data.key)
    return app


def main() -> None:
    """Synthesize what `cdk` asks for; each mistake in the configuration is a line without a traceback."""
    app = cdk.App()
    context: dict[str, Any] = dict(app.node.get_all_context())
    try:
        config = load_config(context.pop("config", CONFIG), context)
    except InputError as error:
        sys.exit("\n".join(f"error: {problem}" for problem in error.problems))
    build(config, app).synth()


if __name__ == "__main__":
    main()
