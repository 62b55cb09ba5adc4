"""The command line, one module for each group of commands."""

# Each module adds its commands to the program when it is imported.
from training_workloads.cli import lint, local, planning, platform, remote, remote_watch, render
from training_workloads.cli.program import app
from training_workloads.cli.program import run as main

__all__ = ["app", "lint", "local", "main", "planning", "platform", "remote", "remote_watch", "render"]
