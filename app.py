"""The CDK app: `build` defines the stacks of a configuration, for `cdk`, for the scanners and for the tests."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Ctrl-C ends the program at once, during the imports too, and without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

try:
    # First, because it chooses the Node.js that aws_cdk starts.
    from training_workloads import InputError  # isort: skip

    import aws_cdk as cdk

    from stacks import TrainingClusterStack, TrainingDataStack
    from training_cluster import ClusterConfig, load_config
except ModuleNotFoundError as error:
    fix = "run 'source .venv/bin/activate' first; 'make setup-cdk' creates .venv"
    sys.exit(f"error: {sys.executable} has no package '{error.name}'; {fix}")
except InputError as error:
    sys.exit(f"error: {error}")

# Beside this file, where `cdk` starts the app; `python app.py` may start it anywhere.
CONFIG = os.path.relpath(Path(__file__).with_name("cluster.yaml"))

# What Node.js reports: an error of the system, such as ENOSPC, or rules over several constructs.
_NOT_A_BUG = re.compile(r"(\w+: )?(E[A-Z]+: |Validation failed )")


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
    try:
        app = cdk.App()
        context: dict[str, Any] = dict(app.node.get_all_context())
        build(load_config(context.pop("config", CONFIG), context), app).synth()
    except InputError as error:
        sys.exit("\n".join(f"error: {problem}" for problem in error.problems))
    except RuntimeError as error:
        if not _NOT_A_BUG.match(str(error)):
            raise
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
