"""The environment of a rank of torchrun: no torch is imported."""

import os
from contextlib import suppress

#: A file that does not exist yet: a rank that meets a user's error writes it, and `training.pods.torch_agent` ends the
#: job. Torchrun itself starts ranks again after any error, and does not pass on their exit codes.
USER_ERROR_FILE = "TRAINING_USER_ERROR_FILE"

# Set for each rank: `_start_workers` in torch/distributed/elastic/agent/server/local_elastic_agent.py of torch 2.15.0.
_RUN_ID = "TORCHELASTIC_RUN_ID"


def by_torchrun() -> bool:
    """Return whether torchrun has started this process, as a rank."""
    return _RUN_ID in os.environ


def report_user_error(message: str) -> None:
    """Tell the program that started torchrun about a user's error, where there is one."""
    path = os.environ.get(USER_ERROR_FILE)
    # The first rank is enough. If the file cannot be written, torchrun starts the ranks again, and the error is only
    # printed.
    with suppress(OSError):
        if path:
            with open(path, "x", encoding="utf-8") as file:
                file.write(message)
