"""The lives of a program: a folder, and all starts of the same command in it, until one ends by itself."""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training_workloads.resume_test import working_copy
from training_workloads.resume_test.disturbances import Disturbance
from training_workloads.resume_test.observed_start import ObservedStart
from training_workloads.resume_test.printed_losses import Loss, printed_losses

__all__ = ["Life", "Program", "Start", "live"]

# The last line of a traceback, and a message of a program, behind the number of a rank.
_ERROR = re.compile(r"(rank +\d+ \| )?([\w.]*(Error|Exception|Interrupt)\b|error: )")

# More would leave the end of the training undisturbed: each kill comes after a part of it.
_DISTURBANCES_OF_A_LIFE = 4

# A start that needs so much longer than the undisturbed run hangs. Ten times, because a machine may be busy.
_SLOWER = 10
_LEAST_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """What is started.

    Attributes:
        target: A script by its name in the folder, or a job as `run-local` takes it.
        is_script: Whether it is a script, which has the copied folder as its current one; a job has it as its volumes.
        folder: The folder of which each life gets a copy.
        results: Where the lives are; never copied.
        ranks: Number of ranks.
        arguments: Those of a script.
        options: Other options of `run-local`.
    """

    target: str
    is_script: bool
    folder: Path
    results: Path
    ranks: int
    arguments: Sequence[str] = ()
    options: Sequence[str] = ()

    def start(self, folder: Path, log: Path) -> ObservedStart:
        """Start it in the copied folder of a life."""
        shared = ["--ranks", str(self.ranks), *self.options]
        if not self.is_script:
            return ObservedStart([self.target, *shared, "--volumes", str(folder)], Path.cwd(), log, {})
        arguments = working_copy.inside(self.folder, self.arguments, folder)
        return ObservedStart([self.target, *shared, "--", *arguments], folder, log, {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A start that has ended.

    Attributes:
        losses: What it printed.
        code: Its exit code; None if it did not end, and was ended.
        seconds: How long it ran.
        first_loss: When it printed its first loss, in seconds after its start.
        disturbance: What ended it; None if it ended by itself.
        last_words: The last line that names an error; without one, the last line of a rank, or of all.
    """

    losses: Sequence[Loss]
    code: int | None
    seconds: float
    first_loss: float | None
    disturbance: Disturbance | None
    last_words: str


@dataclass(kw_only=True, slots=True)
class Life:
    """A folder and its starts; the last one ended by itself.

    Attributes:
        name: Its name.
        folder: The copied folder.
        starts: Its starts.
        copied: The files of the copy before the first start, as `working_copy.states` returns them.
    """

    name: str
    folder: Path
    starts: list[Start] = field(default_factory=list)
    copied: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def written(self) -> set[str]:
        """Names of the files that the program has written: data and old checkpoints say nothing of it."""
        return {name for name, state in working_copy.states(self.folder).items() if self.copied.get(name) != state}

    @property
    def ended_well(self) -> bool:
        """Whether the last start ended with success."""
        return self.starts[-1].code == 0

    @property
    def seconds(self) -> float:
        """Seconds of all starts."""
        return sum(start.seconds for start in self.starts)

    @property
    def training_seconds(self) -> float:
        """Seconds of the last start from its first loss to its end; all of it where it prints none."""
        last = self.starts[-1]
        return last.seconds - (last.first_loss or 0.0)


def live(
    program: Program, name: str, waiting: deque[Disturbance], undisturbed: Life | None, report: Callable[[str], None]
) -> Life:
    """Start a program again and again, until it ends by itself or cannot.

    Args:
        program: What is started.
        name: Name of the life.
        waiting: Disturbances that are still to be injected; those that this life gets are removed.
        undisturbed: The life without disturbances; None for that life.
        report: Gets a line for each start that ends.
    """
    root = program.results / name
    life = Life(name=name, folder=root / "folder")
    life.folder.mkdir(parents=True)
    working_copy.copy_folder(program.folder, life.folder)
    life.copied = working_copy.states(life.folder)
    limit = max(_LEAST_SECONDS, _SLOWER * undisturbed.seconds) if undisturbed else float("inf")
    while True:
        left = len(life.starts) < _DISTURBANCES_OF_A_LIFE
        start = program.start(life.folder, root / f"start-{len(life.starts) + 1}.log")
        try:
            sent = _disturb(start, waiting, undisturbed, limit) if undisturbed and waiting and left else None
            ended = start.wait(limit) if limit < float("inf") else start.wait(1e9)
        finally:
            start.end()
        life.starts.append(_record(start, sent, ended))
        report(_described(life))
        if sent is None or not ended or start.code == 0:
            return life


def _disturb(start: ObservedStart, waiting: deque[Disturbance], undisturbed: Life, limit: float) -> Disturbance | None:
    """Wait for the moment of the next disturbance and inject it; None where the start has ended before."""
    next_one = waiting[0]
    if undisturbed.starts[-1].first_loss is not None:
        start.wait_for_loss(limit)
    if start.wait(next_one.delay * undisturbed.training_seconds) or not next_one.inject(start):
        return None
    return waiting.popleft()


def _record(start: ObservedStart, sent: Disturbance | None, ended: bool) -> Start:
    return Start(
        losses=tuple(printed_losses(start.texts)),
        code=start.code if ended else None,
        seconds=start.seconds,
        first_loss=start.first_loss,
        disturbance=sent,
        last_words=_last_words(start.texts),
    )


def _last_words(lines: Sequence[str]) -> str:
    said = [line.strip() for line in lines if line.strip()]
    errors = [line for line in said if _ERROR.match(line)]
    of_ranks = [line for line in said if line.startswith("rank ")]
    return (errors or of_ranks or said or ["it printed nothing"])[-1]


def _described(life: Life) -> str:
    start = life.starts[-1]
    last = next((each.place for each in reversed(start.losses) if each.is_loss), "its first loss")
    how = "it did not end" if start.code is None else f"exit code {start.code}"
    if start.disturbance:
        how = f"{start.disturbance.what} at {last}; {how}"
    return f"{life.name}, start {len(life.starts)}: {start.seconds:.1f} s, {how}"
