"""The test of a program: undisturbed twice, then killed again and again, and what came of it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from training_workloads.resume_test import working_copy
from training_workloads.resume_test.disturbances import Disturbance, drawn
from training_workloads.resume_test.injection import Undisturbed
from training_workloads.resume_test.lives import Life, Program, live
from training_workloads.resume_test.verdict import Judged, Verdict, compare, judge, order_of, resumes, worst
from training_workloads.validation import InputError, Problem, Problems, check

__all__ = ["Report", "test_resume"]

_UNDISTURBED = "undisturbed"
_AGAIN = "undisturbed again"

# The first one is that of a program that started again; there must be another.
_LEAST_LOSSES = 2

# A start that needs so much longer than the undisturbed run hangs. Ten times, because a machine may be busy.
_SLOWER = 10
_LEAST_SECONDS = 120.0

# The same of the time between two losses. A pod has 30 s from SIGTERM to its end.
_LEAST_SILENCE = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The result of a test.

    Attributes:
        verdict: The worst verdict of all lives.
        program: What was started.
        kills: Number of disturbances that were asked for.
        seed: Seed of the disturbances.
        undisturbed: The life that nothing disturbed.
        again: The same once more: where it differs, so does every other life.
        lives: The lives that were disturbed.
    """

    verdict: Verdict
    program: Program
    kills: int
    seed: int
    undisturbed: Life
    again: Judged
    lives: Mapping[str, tuple[Life, Judged]]

    @property
    def reasons(self) -> list[str]:
        """Why the verdict is not "exact", each reason once."""
        if self.again.verdict != Verdict.EXACT:
            return [f"it is not deterministic: two undisturbed runs differ{_where(self.again)}; give it a seed"]
        return list(dict.fromkeys(why for _, judged in self.lives.values() for why in judged.why))

    @property
    def notes(self) -> list[str]:
        """What a user should know of an exact program, too."""
        lives = [life for life, _ in self.lives.values()]
        lost = Counter(
            f"{each.described(self.program.stop_signal)} had no effect: {why}"
            for life in lives
            for each, why in life.without_effect
        )
        said = [f"{text}{f' ({number} times)' * (number > 1)}" for text, number in lost.items()]
        notes = ((life.name, note) for life, judged in self.lives.values() for note in (*life.hung, *judged.notes))
        return [*said, *(f"{name}: {note}" for name, note in notes)]

    @property
    def took_effect(self) -> int:
        """Number of the disturbances that took effect."""
        return sum(start.disturbance is not None for life, _ in self.lives.values() for start in life.starts)

    def to_json(self) -> dict[str, Any]:
        """Return the report in JSON's types."""
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "notes": self.notes,
            "disturbances": {"asked": self.kills, "took effect": self.took_effect},
            "program": [self.program.target, *self.program.arguments],
            "ranks": self.program.ranks,
            "seed": self.seed,
            "undisturbed": {"seconds": round(self.undisturbed.seconds, 1), "again": asdict(self.again)},
            "lives": {name: _life_json(life, judged, self.program) for name, (life, judged) in self.lives.items()},
        }


def _life_json(life: Life, judged: Judged, program: Program) -> dict[str, Any]:
    starts = [
        {
            "disturbance": _disturbance_json(start.disturbance, program),
            "code": start.code,
            "seconds": round(start.seconds, 1),
            "losses": sum(each.is_loss for each in start.losses),
        }
        for start in life.starts
    ]
    return {"starts": starts, **asdict(judged)}


def _disturbance_json(disturbance: Disturbance | None, program: Program) -> dict[str, str] | None:
    if disturbance is None:
        return None
    return {"kind": disturbance.described(program.stop_signal), "moment": disturbance.moment}


def _where(judged: Judged) -> str:
    if judged.loss:
        place, one, other = judged.loss
        return f" from {place} on ({one} and {other})"
    return f" in {next(iter(judged.arrays))}" if judged.arrays else ""


def test_resume(program: Program, python: str, kills: int, seed: int, report: Callable[[str], None]) -> Report:
    """Run a program undisturbed twice, then disturb it, and judge.

    Args:
        program: What is started.
        python: The Python that reads the files of the program.
        kills: Number of disturbances.
        seed: Seed of their kinds and moments.
        report: Gets a line for each start.

    Raises:
        InputError: The program does not end with success undisturbed, prints too few losses to see where it resumes,
            writes outside its folder, or ends before any disturbance.
    """
    before = {word: _outside(word, program) for word in program.arguments}
    undisturbed = live(program, _UNDISTURBED, (), None, None, report)
    check(_testable(program, undisturbed))
    check(_written_outside(before))
    second = live(program, _AGAIN, (), None, undisturbed, report)
    known, planned = _known(undisturbed, second), drawn(kills, program.ranks, seed)
    report(_estimate(known, undisturbed, planned))
    lived = [second]
    for number, disturbances in enumerate(planned, start=1):
        lived.append(live(program, f"killed {number}", disturbances, known, lived[-1], report))
    if not any(start.disturbance for life in lived for start in life.starts):
        reasons = "; ".join(dict.fromkeys(why for life in lived for _, why in life.without_effect))
        allowed = f"none of {kills} disturbances took effect ({reasons}): it trains {known.seconds:.1f} s"
        fix = "give it more steps, or start without the checkpoints of a finished run"
        raise InputError(Problem(path=("file",), given=program.target, allowed=allowed, fix=fix))
    at_all = any(resumes(life, known.order) for life in lived)
    files = compare(python, undisturbed, lived)
    judged = [
        judge(life, undisturbed, found, resumes_at_all=at_all or life is second)
        for life, found in zip(lived, files, strict=True)
    ]
    again, *others = judged
    return Report(
        verdict=worst([Verdict.EXACT, *(each.verdict for each in others)]),
        program=program,
        kills=kills,
        seed=seed,
        undisturbed=undisturbed,
        again=again,
        lives={life.name: (life, each) for life, each in zip(lived[1:], others, strict=True)},
    )


def _known(undisturbed: Life, again: Life) -> Undisturbed:
    """Return the knowledge that two undisturbed lives give; the second one starts with the files in memory."""
    order, seconds = order_of(undisturbed), max(undisturbed.seconds, again.seconds)
    return Undisturbed(
        order=order,
        first_loss=again.starts[-1].first_loss or 0.0,
        seconds=again.training_seconds,
        limit=max(_LEAST_SECONDS, _SLOWER * seconds),
        silence=max(_LEAST_SILENCE, _SLOWER * max(map(order.seconds_after, range(len(order))))),
        folders=frozenset(Path(name).parent for name in undisturbed.written),
    )


def _estimate(known: Undisturbed, undisturbed: Life, planned: Sequence[Sequence[Disturbance]]) -> str:
    """Return how long the disturbances take: they cost a start each, and at most the training until each."""
    kills = sum(map(len, planned))
    outside = undisturbed.seconds - undisturbed.training_seconds
    least = len(planned) * known.seconds + (kills + len(planned)) * outside
    most = least + known.seconds * sum(each.share for life in planned for each in life)
    counted = f"{kills} disturbance{'s' * (kills > 1)} in {len(planned)} run{'s' * (len(planned) > 1)}"
    ended = f"{_duration(least)} if each start resumes where it ended"
    return f"{counted}: about {ended}, {_duration(most)} if each begins at the first step"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _outside(word: str, program: Program) -> float | None:
    """Return when an absolute path outside the program's folder changed last; None for other words."""
    path = Path(word)
    if not path.is_absolute() or path.is_relative_to(program.folder):
        return None
    return working_copy.newest_change(path)


def _written_outside(before: Mapping[str, float | None]) -> Problems:
    for word, changed in before.items():
        if changed is not None and working_copy.newest_change(Path(word)) > changed:
            allowed = "the program writes there, outside its folder, where each run would find what others wrote"
            fix = "give a path inside the current folder, of which each run gets a copy"
            yield Problem(path=("argument",), given=word, allowed=allowed, fix=fix)


def _testable(program: Program, undisturbed: Life) -> Problems:
    last = undisturbed.starts[-1]
    if not undisturbed.ended_well:
        allowed = f"undisturbed it ends with exit code {last.code}: {last.last_words}"
        fix = f"make 'trainctl run-local {program.target}' succeed first"
        yield Problem(path=("file",), given=program.target, allowed=allowed, fix=fix)
    elif len({each.place for each in last.losses if each.is_loss}) < _LEAST_LOSSES:
        allowed = "it prints too few losses: they show where it resumes"
        fix = "print one every few steps with its place, such as 'step 40: loss 0.61'"
        yield Problem(path=("file",), given=program.target, allowed=allowed, fix=fix)
