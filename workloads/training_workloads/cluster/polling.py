"""Asking again and again: the only way that loses nothing when a connection breaks."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from training_workloads.cluster.failures import TransientError

__all__ = ["INTERVAL_SECONDS", "PATIENCE_SECONDS", "DeadlineError", "Poller", "Progress"]

#: Between two questions: a job of hours loses nothing by it, and the API server does not notice it.
INTERVAL_SECONDS = 2.0

#: How long the cluster may be away: an upgrade of EKS's control plane interrupts single connections, not for minutes.
PATIENCE_SECONDS = 180.0

#: Takes a sentence of what is waited for; a new one replaces it.
Progress = Callable[[str], None]

_Answer = TypeVar("_Answer")


class DeadlineError(Exception):
    """The time that was given is over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Poller:
    """Asks until the answer is there, and bears with a cluster that is away for a while.

    Attributes:
        note: Takes a sentence for the user, such as that the cluster is away.
        deadline: When to give up, in seconds of the monotonic clock. Default: never.
    """

    note: Callable[[str], None]
    deadline: float | None = None

    def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """Returns the answer to a question; asks again where there was none.

        Raises:
            TransientError: The cluster has been away for too long.
            DeadlineError: The deadline came first.
        """
        away_since: float | None = None
        while True:
            try:
                return question()
            except TransientError as error:
                now = time.monotonic()
                if away_since is None:
                    away_since = now
                    self.note(f"{error.event}; asking again for up to {PATIENCE_SECONDS:.0f} seconds")
                if now - away_since >= PATIENCE_SECONDS:
                    raise
            self.pause()

    def pause(self) -> None:
        """Waits until it is time to ask again.

        Raises:
            DeadlineError: The deadline comes first.
        """
        left = INTERVAL_SECONDS if self.deadline is None else self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlineError
        time.sleep(min(INTERVAL_SECONDS, left))
