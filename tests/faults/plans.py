"""The plan of the faults: which happen to which run."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random

from tests.faults import checkpoints, disks, kills, lost_ranks, other_ranks, shards, stops
from tests.faults.life import STEPS, Fault, Life


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """One life."""

    name: str
    """Of its folder."""
    faults: Sequence[Fault]
    """In the order in which they happen."""
    options: Sequence[str] = ()
    """Of the program, besides the usual ones."""
    lasting: Sequence[Fault] = ()
    """Those that the undisturbed run has too."""
    place: Callable[[Life], AbstractContextManager[None]] = lambda life: nullcontext()
    """What it needs during its life, such as mounted disks."""
    compared: bool = True
    """Whether each step must be that of the undisturbed run."""
    finish: Callable[[Life], None] = Life.finish_as_undisturbed
    """Start it for the last time and check its results."""


def plans(random: Random, may_mount: bool) -> list[Plan]:
    """Plan all lives; `random` decides when a fault happens, and to which rank."""
    chosen = [
        *(_killed(random, f"killed-{number}") for number in (1, 2, 3)),
        *(_killed_and_damaged(random, number) for number in (1, 2)),
        *(_killed_in_saves(random, number) for number in (1, 2)),
        *(_stopped(random, number) for number in (1, 2)),
        _damaged_shards(),
        _skipped_shards(random),
        _hanging(random),
        Plan(
            name="ranks",
            faults=[other_ranks.killed_with(ranks, step) for ranks, step in ((2, 9), (1, 30), (2, 42))],
            compared=False,
            finish=other_ranks.finish,
        ),
        *(_elastic(rank) for rank in (0, 1)),
        Plan(name="limited", faults=[disks.unwritable("files limited to 4 KB", step) for step in (9, 34)]),
    ]
    if may_mount:
        chosen += _on_small_disks()
    return chosen


def _elastic(rank: int) -> Plan:
    lost = lost_ranks.lost_rank(rank, 9)
    return Plan(name=f"elastic-{rank}", faults=[lost], compared=False, finish=lost_ranks.finish)


def _killed(random: Random, name: str) -> Plan:
    faults = [kills.rank_while_starting(_rank(random), random.uniform(0, 5))]
    faults += [kills.rank(_rank(random), step, random.uniform(0, 0.1)) for step in _steps(random, 5)]
    return Plan(name=name, faults=faults)


def _killed_and_damaged(random: Random, number: int) -> Plan:
    faults = []
    for how, step in zip(list(checkpoints.DAMAGES)[number - 1 :: 2], _steps(random, 3, first=14), strict=True):
        faults += [kills.rank(_rank(random), step, random.uniform(0, 0.1)), checkpoints.damage(how, newest=number)]
    return Plan(name=f"damaged-{number}", faults=faults)


def _killed_in_saves(random: Random, number: int) -> Plan:
    # Each start saves once or twice before it is killed: from the fifth on there is an oldest checkpoint to remove.
    stages = random.sample([0, 1, 2], 3) + random.sample([0, 1, 4], 3)
    return Plan(name=f"saves-{number}", faults=[kills.save(2, stage) for stage in stages])


def _stopped(random: Random, number: int) -> Plan:
    ranks = random.sample([0, 1, None, None], 4)
    return Plan(
        name=f"stopped-{number}",
        faults=[stops.request(rank, step) for rank, step in zip(ranks, _steps(random, 4), strict=True)],
    )


def _damaged_shards() -> Plan:
    return Plan(
        name="shards",
        faults=[
            shards.stop("a record's content", "train-00000-of-00004"),
            shards.stop("cut off", "train-00001-of-00004"),
            shards.stop("missing", "validation-00001-of-00002"),
            shards.stop("a record's length", "train-00002-of-00004"),
        ],
    )


def _skipped_shards(random: Random) -> Plan:
    lasting = [
        shards.skip("a record's content", "train-00003-of-00004"),
        shards.skip("a record's length", "validation-00000-of-00002"),
        shards.skip("missing", "train-00001-of-00004"),
    ]
    # A quarter of the images is missing: 16 steps an epoch. The last epoch has the damaged training record in step 41,
    # so that the last start, after step 44, does not read it again.
    faults = [kills.rank(_rank(random), step) for step in (*_steps(random, 1, last=40), 44)]
    return Plan(name="skipped", lasting=lasting, faults=faults, options=["--on-bad-data", "skip"])


def _hanging(random: Random) -> Plan:
    first, second, third, fourth = _steps(random, 4)
    return Plan(
        name="hanging",
        faults=[kills.hang(0, first), kills.launcher(second), kills.hang(1, third), kills.launcher(fourth)],
    )


def _on_small_disks() -> list[Plan]:
    # Four saves, so that TensorBoard's curves need a page more, too.
    full = [disks.unwritable("checkpoints full", 9), disks.unwritable("all full", 24, saves=4)]
    other = [disks.unwritable("checkpoints read-only", 9), disks.full_to_the_end(36)]
    return [
        Plan(name="disks-1", faults=full, place=disks.mounted),
        Plan(name="disks-2", faults=other, place=disks.mounted),
    ]


def _rank(random: Random) -> int:
    return random.randrange(2)


def _steps(random: Random, count: int, first: int = 1, last: int = STEPS - 6) -> list[int]:
    """Draw steps, one in each part of the run, so that each fault finds the run alive."""
    width = (last - first) // count
    return [first + width * part + random.randrange(width) for part in range(count)]
