"""The plan of the faults: which happen to which run."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from random import Random

from tests.faults import (
    checkpoints,
    clocks,
    disks,
    kills,
    lost_ranks,
    other_ranks,
    reads,
    shards,
    stops,
    torch_agents,
    two_starts,
)
from tests.faults.disturbed_programs import MASK_RCNN, RESNET50, TORCH_IMAGENET, Program
from tests.faults.life import STEPS, Fault, Life


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """One life."""

    name: str
    """Name of its folder."""
    faults: Sequence[Fault]
    """In the order in which they happen."""
    options: Sequence[str] = ()
    """Options of the program, besides the usual ones."""
    program: Program = RESNET50
    """What is trained."""
    lasting: Sequence[Fault] = ()
    """Those that the undisturbed run has too."""
    place: Callable[[Life], AbstractContextManager[None]] = lambda life: nullcontext()
    """What it needs during its life, such as mounted disks."""
    compared: bool = True
    """Whether each step must be that of the undisturbed run."""
    finish: Callable[[Life], None] = Life.finish_as_undisturbed
    """Start it for the last time and check its results."""

    @property
    def injects(self) -> int:
        """The number of its faults."""
        return len(self.lasting) + len(self.faults)


@dataclass(frozen=True, slots=True)
class Suite:
    """The lives of the programs of one framework."""

    target: str
    """Target of make."""
    programs: Sequence[Program]
    """All have the same ranks. The first is the one of a plan that names none."""
    round: Sequence[str]
    """The kind of each life of a round."""


def choose(
    suite: Suite, seed: int, may_mount: bool, *, lives: Sequence[str] = (), faults: int | None = None
) -> list[Plan]:
    """Return the lives that were asked for; each follows from the seed and its name, and from nothing else.

    Args:
        suite: Suite of the lives.
        seed: Seed of all lives.
        may_mount: Whether this user may mount small disks.
        lives: Names, or kinds whose lives of one round are meant. Default: all of one round.
        faults: As many lives of all kinds as inject this number of faults. Default: one round.
    """
    if faults is None:
        names = list(_round(suite, may_mount, Counter()))
        chosen = [name for name in names if not lives or name.rpartition("-")[0] in lives]
        named = [life for life in lives if life not in suite.round]
        return [_plan(suite, seed, name) for name in dict.fromkeys([*chosen, *named])]
    plans: list[Plan] = []
    numbers: Counter[str] = Counter()
    while True:
        for name in _round(suite, may_mount, numbers):
            plans.append(_plan(suite, seed, name))
            if sum(plan.injects for plan in plans) >= faults:
                return plans


def _round(suite: Suite, may_mount: bool, numbers: Counter[str]) -> Iterator[str]:
    """Yield the names of a round of lives: each kind counts its own on."""
    for kind in suite.round:
        if kind in _NEED_MOUNTS and not may_mount:
            continue
        numbers[kind] += 1
        if kind not in _SELDOM or numbers[kind] % 3 == 1:
            yield f"{kind}-{numbers[kind]}"


def _plan(suite: Suite, seed: int, name: str) -> Plan:
    kind, _, number = name.rpartition("-")
    if kind not in suite.round or not number.isdecimal():
        kinds = " ".join(dict.fromkeys(suite.round))
        raise SystemExit(f"there is no life {name!r}; give a kind, or a life of it such as killed-17: {kinds}")
    plan = _KINDS[kind](name, int(number), Random(f"{seed} {name}"))
    return plan if plan.program in suite.programs else replace(plan, program=suite.programs[0])


# --------------------------------------------------------------------------------------------------------------- kinds


def _killed(name: str, number: int, random: Random) -> Plan:
    faults = [kills.rank_while_starting(_rank(random), random.uniform(0, 5))]
    faults += [kills.rank(_rank(random), step, random.uniform(0, 0.1)) for step in _steps(random, 5)]
    return Plan(name=name, faults=faults)


def _killed_and_damaged(name: str, number: int, random: Random) -> Plan:
    # Damages of odd and of even numbers; the latter hit two checkpoints of those that are kept.
    half = (number - 1) % 2
    faults = []
    for how, step in zip(list(checkpoints.DAMAGES)[half::2], _steps(random, 3, first=18), strict=True):
        faults += [kills.rank(_rank(random), step, random.uniform(0, 0.1)), checkpoints.damage(how, newest=half + 1)]
    return Plan(name=name, faults=faults)


def _killed_in_saves(name: str, number: int, random: Random) -> Plan:
    # Each start saves once or twice before it is killed: from the fifth on there is an oldest checkpoint to remove.
    stages = random.sample([0, 1, 2], 3) + random.sample([0, 1, 4], 3)
    return Plan(name=name, faults=[kills.save(2, stage) for stage in stages])


def _killed_beside_writes(name: str, number: int, random: Random) -> Plan:
    victims = random.sample([0, 1, None], 3)
    faults = [kills.beside_write(victim, step) for victim, step in zip(victims, _steps(random, 3), strict=True)]
    return Plan(name=name, faults=[*faults, stops.request(_rank(random), STEPS - 10, beside_write=True)])


def _stopped(name: str, number: int, random: Random) -> Plan:
    ranks = random.sample([0, 1, None, None], 4)
    return Plan(
        name=name,
        faults=[stops.request(rank, step) for rank, step in zip(ranks, _steps(random, 4), strict=True)],
    )


def _damaged_shards(name: str, number: int, random: Random) -> Plan:
    return Plan(
        name=name,
        faults=[
            shards.stop("a record's content", "train-00000-of-00004"),
            shards.stop("cut off", "train-00001-of-00004"),
            shards.stop("missing", "validation-00001-of-00002"),
            shards.stop("a record's length", "train-00002-of-00004"),
        ],
    )


def _skipped_shards(name: str, number: int, random: Random) -> Plan:
    # A quarter of the images is missing: 16 steps an epoch. The last epoch has the damaged training record in step 41,
    # so that the last start, after step 44, does not read it again.
    faults = [kills.rank(_rank(random), step) for step in (*_steps(random, 1, last=40), 44)]
    return Plan(name=name, lasting=_LASTING, faults=faults, options=["--on-bad-data", "skip"])


_LASTING = (
    shards.skip("a record's content", "train-00003-of-00004"),
    shards.skip("a record's length", "validation-00000-of-00002"),
    shards.skip("missing", "train-00001-of-00004"),
)


def _hanging(name: str, number: int, random: Random) -> Plan:
    first, second, third, fourth = _steps(random, 4)
    return Plan(
        name=name,
        faults=[kills.hang(0, first), kills.launcher(second), kills.hang(1, third), kills.launcher(fourth)],
    )


def _reading(name: str, number: int, random: Random) -> Plan:
    # The last steps read nothing: all their images are there.
    first, second, third = _steps(random, 3, last=40)
    return Plan(name=name, faults=[reads.hang(None, first), reads.slow(second, 20.0), reads.hang(_rank(random), third)])


def _other_clocks(name: str, number: int, random: Random) -> Plan:
    # Hours back and forward, in the run and between two starts.
    hours = [-random.uniform(1, 30), random.uniform(1, 30)]
    random.shuffle(hours)
    first, second = _steps(random, 2, last=44)
    faults = [clocks.jump(_rank(random), first, hours[0]), clocks.files(-hours[0])]
    faults += [clocks.jump(_rank(random), second, hours[1]), clocks.files(-hours[1])]
    return Plan(name=name, faults=faults, options=clocks.OPTIONS)


def _two_starts(name: str, number: int, random: Random) -> Plan:
    later = two_starts.later(random.randrange(1, 3), random.uniform(-30, 30))
    return Plan(name=name, faults=[later, two_starts.together()])


def _other_ranks(name: str, number: int, random: Random) -> Plan:
    faults = [other_ranks.killed_with(ranks, step) for ranks, step in ((2, 9), (1, 30), (2, 42))]
    return Plan(name=name, faults=faults, compared=False, finish=other_ranks.finish)


def _elastic(name: str, number: int, random: Random) -> Plan:
    lost = lost_ranks.lost_rank((number - 1) % 2, 9)
    return Plan(name=name, faults=[lost], compared=False, finish=lost_ranks.finish)


def _started_again(name: str, number: int, random: Random) -> Plan:
    faults = [torch_agents.rank_started_again(_rank(random), step) for step in _steps(random, 2, first=10)]
    return Plan(name=name, program=TORCH_IMAGENET, faults=faults)


def _store(name: str, number: int, random: Random) -> Plan:
    faults = [torch_agents.lost_store(step) for step in _steps(random, 2)]
    return Plan(name=name, program=TORCH_IMAGENET, faults=faults)


def _mask_rcnn(name: str, number: int, random: Random) -> Plan:
    first, second, third = _steps(random, 3, last=34)
    faults = [kills.rank(_rank(random), first, random.uniform(0, 0.1)), stops.request(_rank(random), second)]
    return Plan(name=name, program=MASK_RCNN, faults=[*faults, kills.launcher(third)])


def _mask_rcnn_elastic(name: str, number: int, random: Random) -> Plan:
    lost = lost_ranks.lost_rank((number - 1) % 2, 9)
    return Plan(name=name, program=MASK_RCNN, faults=[lost], compared=False, finish=lost_ranks.finish)


def _limited(name: str, number: int, random: Random) -> Plan:
    steps = _steps(random, 2, last=44)
    return Plan(name=name, faults=[disks.unwritable("files limited to 4 KB", step) for step in steps])


def _disks(name: str, number: int, random: Random) -> Plan:
    # Four saves, so that TensorBoard's curves need a page more, too.
    full = [disks.unwritable("checkpoints full", 9), disks.unwritable("all full", 24, saves=4)]
    other = [disks.unwritable("checkpoints read-only", 9), disks.full_to_the_end(36)]
    return Plan(name=name, faults=full if number % 2 else other, place=disks.mounted)


def _filling(name: str, number: int, random: Random) -> Plan:
    faults = [disks.filling(pages) for pages in random.sample(range(16, 33), 2)]
    return Plan(name=name, faults=faults, place=disks.mounted)


_KINDS: dict[str, Callable[[str, int, Random], Plan]] = {
    "hanging": _hanging,
    "killed": _killed,
    "reading": _reading,
    "damaged": _killed_and_damaged,
    "twice": _two_starts,
    "saves": _killed_in_saves,
    "elastic": _elastic,
    "writes": _killed_beside_writes,
    "stopped": _stopped,
    "clocks": _other_clocks,
    "shards": _damaged_shards,
    "skipped": _skipped_shards,
    "ranks": _other_ranks,
    "limited": _limited,
    "mask_rcnn": _mask_rcnn,
    "mask_rcnn_elastic": _mask_rcnn_elastic,
    "again": _started_again,
    "store": _store,
    "disks": _disks,
    "filling": _filling,
}

# Lives that wait stand beside lives that compute.
TENSORFLOW = Suite(
    "test-long SUITE=faults",
    (RESNET50, MASK_RCNN),
    (
        *(
            "hanging",
            "killed",
            "saves",
            "reading",
            "killed",
            "damaged",
            "twice",
            "killed",
            "writes",
            "elastic",
            "saves",
        ),
        *(
            "stopped",
            "clocks",
            "damaged",
            "shards",
            "elastic",
            "skipped",
            "stopped",
            "ranks",
            "limited",
            "disks",
            "disks",
        ),
        *("filling", "mask_rcnn", "mask_rcnn_elastic"),
    ),
)
TORCH = Suite(
    "test-long SUITE=torch-faults",
    (TORCH_IMAGENET,),
    (
        *("hanging", "killed", "store", "reading", "damaged", "twice", "saves", "again", "writes", "stopped"),
        *("clocks", "shards", "damaged", "skipped", "ranks", "limited", "disks", "disks", "filling"),
    ),
)

_NEED_MOUNTS = ("disks", "filling")

# Each start compiles for half a minute: in every third round, from the first on.
_SELDOM = ("mask_rcnn", "mask_rcnn_elastic")


def _rank(random: Random) -> int:
    return random.randrange(2)


def _steps(random: Random, count: int, first: int = 1, last: int = STEPS - 6) -> list[int]:
    """Draw steps, one in each part of the run, so that each fault finds the run alive."""
    width = (last - first) // count
    return [first + width * part + random.randrange(width) for part in range(count)]
