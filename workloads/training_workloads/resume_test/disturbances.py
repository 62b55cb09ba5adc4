"""Disturbances of a run: what happens to it, and when, as a seed draws them."""

import random
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Disturbance", "Kind", "Moment", "drawn"]

# More disturbances in one life save undisturbed ends, and say less about each.
_OF_A_LIFE = 6


class Kind(StrEnum):
    """What happens. The values are the words of the report."""

    RANK_KILLED = "SIGKILL to rank {rank}"
    """As when a process is killed for its memory."""
    ALL_KILLED = "SIGKILL to every process"
    """As when the machine loses its power."""
    LAUNCHER_KILLED = "SIGKILL to the launcher"
    STOP = "stop request ({signal} to the launcher)"
    """As a job's launcher gets it before its pod is removed: SIGUSR1 to mpirun, which forwards it, else SIGTERM."""
    RANK_STOPPED = "SIGTERM to rank {rank}"
    """As an eviction of one pod."""
    RANK_LOST = "rank {rank} lost (SIGSTOP, then SIGKILL to every process)"
    """As when a node no longer answers: the other ranks wait for it, until all are ended."""

    @property
    def is_request(self) -> bool:
        """Whether a program can ignore it, or save before it ends."""
        return self in (Kind.STOP, Kind.RANK_STOPPED)


class Moment(StrEnum):
    """When it happens."""

    BEFORE_THE_FIRST_STEP = "before its first loss"
    BETWEEN_STEPS = "between two losses"
    WHILE_WRITING = "while it writes a file"
    END_OF_AN_EPOCH = "at the end of an epoch"


# Of 20 disturbances.
_KINDS = {
    Kind.RANK_KILLED: 8,
    Kind.ALL_KILLED: 3,
    Kind.LAUNCHER_KILLED: 2,
    Kind.STOP: 3,
    Kind.RANK_STOPPED: 2,
    Kind.RANK_LOST: 2,
}
_MOMENTS = {
    Moment.BETWEEN_STEPS: 10,
    Moment.WHILE_WRITING: 4,
    Moment.END_OF_AN_EPOCH: 4,
    Moment.BEFORE_THE_FIRST_STEP: 2,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Disturbance:
    """A disturbance.

    Attributes:
        kind: What happens.
        rank: Whom it hits, where it is one rank.
        moment: When it happens.
        share: How far the training is then: from 0, its first printed loss, to 1, its last one.
        part: How far the next step is then, from 0 to 1.
    """

    kind: Kind
    rank: int
    moment: Moment
    share: float
    part: float

    def described(self, stop: signal.Signals) -> str:
        """Return it in words, with the signal of a stop request."""
        return self.kind.format(rank=self.rank, signal=stop.name)


def drawn(number: int, ranks: int, seed: int) -> list[Sequence[Disturbance]]:
    """Return so many disturbances, those of each life in the order of the training."""
    draw = random.Random(seed)
    all_of_them = [
        Disturbance(
            kind=draw.choices(list(_KINDS), list(_KINDS.values()))[0],
            rank=draw.randrange(ranks),
            moment=draw.choices(list(_MOMENTS), list(_MOMENTS.values()))[0],
            share=draw.random(),
            part=draw.random(),
        )
        for _ in range(number)
    ]
    lives = -(-number // _OF_A_LIFE)
    return [sorted(all_of_them[life::lives], key=lambda each: each.share) for life in range(lives)]
