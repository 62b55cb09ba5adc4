"""Repeat a question until the answer arrives: unlike a watch, this loses nothing when a connection breaks."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from training_workloads.cluster.failures import TransientError

__all__ = ["INTERVAL_SECONDS", "PATIENCE_SECONDS", "DeadlineError", "Poller", "Progress"]

#: Between two questions: a job of hours loses nothing by it, and the API server does not notice the load.
INTERVAL_SECONDS = 2.0

#: How long the cluster may be unreachable: an upgrade of EKS's control plane interrupts connections for less.
PATIENCE_SECONDS = 180.0

#: Takes a sentence about what the command waits for; a new one replaces it.
Progress = Callable[[str], None]

_Answer = TypeVar("_Answer")


class DeadlineError(Exception):
    """The deadline has passed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Poller:
    """Asks until the answer arrives, and tolerates a cluster that is unreachable for a while.

    Attributes:
        note: Takes a sentence for the user, such as that the cluster is unreachable.
        deadline: When to give up, in seconds of the monotonic clock. Default: never.
    """

    note: Callable[[str], None]
    deadline: float | None = None

    def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """Return the answer to a question; retry after a transient error.

        Raises:
            TransientError: The cluster has been unreachable for too long.
            DeadlineError: The deadline came first.
        """
        unreachable_since: float | None = None
        while True:
            try:
                return question()
            except TransientError as error:
                now = time.monotonic()
                if unreachable_since is None:
                    unreachable_since = now
                    self.note(f"{error.event}; retrying for up to {PATIENCE_SECONDS:.0f} seconds")
                if now - unreachable_since >= PATIENCE_SECONDS:
                    raise
            self.pause()

    def pause(self) -> None:
        """Wait until the next question is due.

        Raises:
            DeadlineError: The deadline comes first.
        """
        left = INTERVAL_SECONDS if self.deadline is None else self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError
        time.sleep(min(INTERVAL_SECONDS, left))
