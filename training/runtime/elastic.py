"""Elastic runs, whose ranks come and go, as `horovodrun --host-discovery-script` starts them.

A run under `mpirun` passes through here unchanged. https://horovod.readthedocs.io/en/v0.28.1/elastic.html
"""

import os
from collections.abc import Callable
from typing import TypeVar

from .distributed import on_every_rank
from .errors import RankError, UserError

Value = TypeVar("Value")

#: Called after each checkpoint: it does not return where workers were added or will leave.
CheckHosts = Callable[[], None]


def active() -> bool:
    """Return whether ranks may come and go: `horovodrun` sets the variable where it has a discovery script."""
    return os.environ.get("HOROVOD_ELASTIC") == "1"


def before_run(action: Callable[[], Value]) -> Value:
    """Prepare every rank for `run`, such as by reading a file that all ranks can read.

    An elastic run calls no collective operation here: a rank that joins later would call it alone, and its messages
    would be taken for those of the others.

    Raises:
        RankError: In an elastic run, instead of a `UserError`.
    """
    if not active():
        return on_every_rank(action)[0]
    try:
        return action()
    except UserError as error:
        raise RankError(str(error)) from error
