"""The account and the cluster of the commands, as for the modules that they call."""

from tests.constructs.account.conftest import account, clock, command, kubernetes

__all__ = ["account", "clock", "command", "kubernetes"]
