"""The test of a program: undisturbed twice, then killed again and again, and what came of it."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from training_workloads.resume_test import working_copy
from training_workloads.resume_test.disturbances import disturbances
from training_workloads.resume_test.lives import Life, Program, live
from training_workloads.resume_test.verdict import Judged, Verdict, compare, judge, resumes, worst
from training_workloads.validation import InputError, Problem, Problems, check

__all__ = ["Report", "test_resume"]

_UNDISTURBED = "undisturbed"
_AGAIN = "undisturbed again"

# The first one is that of a program that started again; there must be another.
_LEAST_LOSSES = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The result of a test.

    Attributes:
        verdict: The worst verdict of all lives.
        program: What was started.
        seed: Seed of the disturbances.
        undisturbed: The life that nothing disturbed.
        again: The same once more: where it differs, so does every other life.
        lives: The lives that were disturbed.
    """

    verdict: Verdict
    program: Program
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

    def to_json(self) -> dict[str, Any]:
        """Return the report in JSON's types."""
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "program": [self.program.target, *self.program.arguments],
            "ranks": self.program.ranks,
            "seed": self.seed,
            "undisturbed": {"seconds": round(self.undisturbed.seconds, 1), "again": asdict(self.again)},
            "lives": {name: _life_json(life, judged) for name, (life, judged) in self.lives.items()},
        }


def _life_json(life: Life, judged: Judged) -> dict[str, Any]:
    starts = [
        {
            "disturbance": start.disturbance.what if start.disturbance else None,
            "code": start.code,
            "seconds": round(start.seconds, 1),
            "losses": sum(each.is_loss for each in start.losses),
        }
        for start in life.starts
    ]
    return {"starts": starts, **asdict(judged)}


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
    outside = {word: _outside(word, program) for word in program.arguments}
    undisturbed = live(program, _UNDISTURBED, deque(), None, report)
    check(_testable(program, undisturbed))
    for word, changed in outside.items():
        if changed is not None and working_copy.newest_change(Path(word)) > changed:
            allowed = "the program writes there, outside its folder, where each run would find what others wrote"
            fix = "give a path inside the current folder, of which each run gets a copy"
            raise InputError(Problem(path=("argument",), given=word, allowed=allowed, fix=fix))
    second = live(program, _AGAIN, deque(), None, report)
    again = judge(second, undisturbed, compare(python, undisturbed, second), resumes_at_all=True)
    waiting, lived = deque(disturbances(kills, program.ranks, seed)), list[Life]()
    while waiting:
        left = len(waiting)
        lived.append(live(program, f"killed {len(lived) + 1}", waiting, undisturbed, report))
        if len(waiting) == left:
            # It ended before its moment, or failed by itself.
            waiting.popleft()
    if not any(start.disturbance for life in lived for start in life.starts):
        allowed = f"it ended before each of {kills} disturbances: it trains {undisturbed.training_seconds:.1f} s"
        fix = "give it more steps, or start without the checkpoints of a finished run"
        raise InputError(Problem(path=("file",), given=program.target, allowed=allowed, fix=fix))
    at_all = any(resumes(life, undisturbed) for life in lived)
    lives = {
        life.name: (
            life,
            judge(life, undisturbed, compare(python, undisturbed, life), resumes_at_all=at_all),
        )
        for life in lived
    }
    verdict = worst([Verdict.EXACT, *(judged.verdict for _, judged in lives.values())])
    return Report(verdict=verdict, program=program, seed=seed, undisturbed=undisturbed, again=again, lives=lives)


def _outside(word: str, program: Program) -> float | None:
    """Return when an absolute path outside the program's folder changed last; None for other words."""
    path = Path(word)
    if not path.is_absolute() or path.is_relative_to(program.folder):
        return None
    return working_copy.newest_change(path)


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
