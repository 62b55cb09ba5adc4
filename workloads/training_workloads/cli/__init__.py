"""The command line: one module for each group of commands."""

# Each module adds its commands to the program when it is imported; `platform` is a group that an entry point adds.
from training_workloads.cli import (
    bench_commands,
    cluster_commands,
    completion,
    init_command,
    lint_command,
    local_commands,
    plan_commands,
)
from training_workloads.cli.program import app, main

__all__ = [
    "app",
    "bench_commands",
    "cluster_commands",
    "completion",
    "init_command",
    "lint_command",
    "local_commands",
    "main",
    "plan_commands",
]
