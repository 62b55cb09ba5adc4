"""The CDK app: `build` defines the stacks of a configuration, for `cdk`, for the scanners and for the tests."""

import os
import sys
from pathlib import Path
from typing import Any

try:
    from training_workloads.app_errors import errors_as_lines
except ModuleNotFoundError as error:
    fix = "run 'source .venv/bin/activate' first; 'make setup-cdk' creates .venv"
    sys.exit(f"error: {sys.executable} has no package '{error.name}'; {fix}")

if __name__ == "__main__":
    errors_as_lines()

import aws_cdk as cdk

from stacks import SageMakerTrainingStack, TrainingClusterStack, TrainingDataStack
from training_cluster import ClusterConfig, load_config

# Beside this file, where `cdk` starts the app; `python app.py` may start it anywhere.
CONFIG = os.path.relpath(Path(__file__).with_name("cluster.yaml"))


def build(config: ClusterConfig, app: cdk.App | None = None) -> cdk.App:
    """Define the stacks: that of SageMaker where the configuration has its section.

    Args:
        config: The configuration of the cluster.
        app: The app. Default: a new one.
    """
    app = app or cdk.App()
    data = TrainingDataStack(
        app,
        "TrainingDataStack",
        monthly_budget_usd=config.monthly_budget_usd,
        email=config.alarm_email,
        termination_protection=config.deletion_protection,
        permissions_boundary=_boundary(config),
        existing_bucket=config.existing_bucket,
        existing_key=config.existing_key,
        existing_repository=config.existing_repository,
    )
    TrainingClusterStack(
        app,
        "TrainingClusterStack",
        config=config,
        bucket=data.bucket,
        encryption_key=data.key,
        termination_protection=config.deletion_protection,
    )
    if config.sagemaker:
        SageMakerTrainingStack(
            app,
            "SageMakerTrainingStack",
            config=config.sagemaker,
            bucket=data.bucket,
            repository=data.repository,
            encryption_key=data.key,
            permissions_boundary=_boundary(config),
        )
    return app


def _boundary(config: ClusterConfig) -> cdk.PermissionsBoundary | None:
    """Return the boundary of the roles of a stack; that of the cluster has it from its configuration."""
    return cdk.PermissionsBoundary.from_arn(config.permissions_boundary) if config.permissions_boundary else None


def main() -> None:
    """Synthesize the app that `cdk` asks for."""
    app = cdk.App()
    context: dict[str, Any] = dict(app.node.get_all_context())
    build(load_config(context.pop("config", CONFIG), context), app).synth()


if __name__ == "__main__":
    main()
