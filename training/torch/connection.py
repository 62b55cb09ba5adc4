"""The library's own connection beside the process group of a user's script, and its errors on all ranks."""

import os
import signal
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import torch.distributed as dist

from ..runtime import distributed, parent_death, ranks, torchrun_environment, watchdog
from ..runtime.errors import UserError
from ..runtime.torch_ranks import TorchRanks

Value = TypeVar("Value")


def connect() -> None:
    """Use the ranks of the script's process group; without one this process is alone.

    Raises:
        UserError: torchrun has started several ranks, and the script has not connected them.
    """
    if dist.is_available() and dist.is_initialized():
        # On Gloo, apart from the gradients: an exchange of a few numbers does not wait for a GPU.
        ranks.use(TorchRanks(dist.new_group(backend="gloo", timeout=timedelta(seconds=watchdog.limit()))))
    elif int(os.environ.get("WORLD_SIZE") or 1) > 1:
        ranks.use(ranks.Ranks(int(os.environ.get("RANK") or 0)))
        raise UserError(
            f"WORLD_SIZE is {os.environ['WORLD_SIZE']}, but the script has not connected its ranks; call "
            "torch.distributed.init_process_group() before it makes the run"
        )
    if torchrun_environment.by_torchrun():
        # Ranks whose torchrun was killed would train on, beside those of its next start: they save and stop.
        parent_death.send_when_the_parent_ends(signal.SIGTERM)


def on_all_ranks(action: Callable[[], Value]) -> Value:
    """Return the value of a function that every rank calls; end the script by a user's error or a stop request.

    Raises:
        SystemExit: With the exit code that says which.
    """
    values: list[Value] = []
    code = distributed.run(lambda: values.append(action()))
    if code:
        raise SystemExit(code)
    return values[0]
