"""The command line: one module for each group of commands, which `top_level` imports when it is used."""

from training_workloads.cli.commands import Group
from training_workloads.cli.program import main, program

__all__ = ["Group", "main", "program"]
