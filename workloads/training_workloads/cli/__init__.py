"""The command line: one module for each group of commands."""

# Each module adds its commands to the program when it is imported; `platform` is a group that an entry point adds.
from training_workloads.cli import cluster_commands, init_command, local_commands
from training_workloads.cli.program import app
from training_workloads.cli.program import run as main

__all__ = ["app", "cluster_commands", "init_command", "local_commands", "main"]
