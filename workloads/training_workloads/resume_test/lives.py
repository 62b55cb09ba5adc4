"""The lives of a program: a folder, and all starts of the same command in it, until one ends by itself."""

import re
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training_workloads.resume_test import working_copy
from training_workloads.resume_test.disturbances import Disturbance
from training_workloads.resume_test.injection import Undisturbed, inject, kill, reaches
from training_workloads.resume_test.launched import Launch
from training_workloads.resume_test.observed_start import ObservedStart
from training_workloads.resume_test.printed_losses import Loss

__all__ = ["Life", "Program", "Start", "live"]

# The last line of a traceback, and a message of a program, behind the number of a rank.
_ERROR = re.compile(r"(rank +\d+ \| )?([\w.]*(Error|Exception|Interrupt)\b|error: )")

# So long a request has the start for itself, before the next disturbance.
_SAVE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """What is started.

    Attributes:
        target: A script by its name in the folder, or a job as `run-local` takes it.
        is_script: Whether it is a script, which has the copied folder as its current one; a job has it as its volumes.
        folder: The folder of which the lives get a copy.
        results: Where the lives are; never copied.
        ranks: Number of ranks.
        environment: Virtual environment with the launcher and the program.
        stop_signal: The signal with which a job's launcher is asked to stop.
        arguments: Those of a script.
    """

    target: str
    is_script: bool
    folder: Path
    results: Path
    ranks: int
    environment: Path
    stop_signal: signal.Signals
    arguments: Sequence[str] = ()

    def start(self, folder: Path, log: Path) -> ObservedStart:
        """Start it in the copied folder of a life."""
        launch = Launch(
            target=self.target,
            folder=folder if self.is_script else Path.cwd(),
            volumes=folder,
            environment=self.environment,
            ranks=self.ranks,
            arguments=working_copy.inside(self.folder, self.arguments, folder),
        )
        return ObservedStart(launch, log)


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A start that has ended.

    Attributes:
        losses: What it printed.
        times: When it printed each, in seconds after its start.
        code: Its exit code; None if it did not end, and was ended.
        seconds: How long it ran.
        disturbance: The disturbance that took effect: it ended the start, or came before the program started again.
        last_words: The last line that names an error; without one, the last line of a rank, or of all.
    """

    losses: Sequence[Loss]
    times: Sequence[float]
    code: int | None
    seconds: float
    disturbance: Disturbance | None = None
    last_words: str

    @property
    def first_loss(self) -> float | None:
        """When it printed its first loss."""
        return next((when for when, loss in zip(self.times, self.losses, strict=True) if loss.is_loss), None)


@dataclass(kw_only=True, slots=True)
class Life:
    """A folder and its starts; the last one ended by itself.

    Attributes:
        name: Its name.
        folder: The copied folder.
        starts: Its starts.
        copied: The files of the copy before the first start, as `working_copy.states` returns them.
        without_effect: The disturbances after which the program did not start again, each with the reason.
        hung: Starts that neither ended nor went on after a request, and were killed.
    """

    name: str
    folder: Path
    starts: list[Start] = field(default_factory=list)
    copied: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    without_effect: list[tuple[Disturbance, str]] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)

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
    program: Program,
    name: str,
    disturbances: Sequence[Disturbance],
    known: Undisturbed | None,
    previous: Life | None,
    report: Callable[[str], None],
) -> Life:
    """Start a program again and again, until it ends by itself or cannot.

    Args:
        program: What is started.
        name: Name of the life.
        disturbances: Its disturbances, in the order of the training.
        known: What the undisturbed life has shown; None for that life.
        previous: The life before, which needs its copy of what the program does not change no longer.
        report: Gets a line for each start that ends.
    """
    root = program.results / name
    life = Life(name=name, folder=root / "folder")
    life.folder.mkdir(parents=True)
    if previous:
        working_copy.hand_on(previous.folder, previous.copied, life.folder)
    working_copy.copy_folder(program.folder, life.folder)
    life.copied = working_copy.states(life.folder)
    waiting, is_through = deque(disturbances), False
    while True:
        start = program.start(life.folder, root / f"start-{len(life.starts) + 1}.log")
        try:
            sent = _disturb(start, waiting, known, program.stop_signal, life) if known else []
            ended = start.wait(known.limit if known else None)
        finally:
            start.end()
        is_through = is_through or (known is not None and known.is_last(start))
        is_complete = start.code == 0 and is_through
        took = sent[-1] if sent and _took_effect(sent[-1], ended, is_complete) else None
        life.starts.append(_record(start, took, ended))
        life.without_effect += [(each, "it went on") for each in sent if each is not took]
        report(_described(life, program.stop_signal))
        if not ended or not took:
            life.without_effect += [(each, "it had ended before") for each in waiting]
            return life


def _disturb(
    start: ObservedStart, waiting: deque[Disturbance], known: Undisturbed, stop: signal.Signals, life: Life
) -> list[Disturbance]:
    """Inject the disturbances whose moment comes, up to one that ends the start, and return them."""
    sent: list[Disturbance] = []
    while waiting and reaches(start, waiting[0], known, life.folder) and inject(start, waiting[0], stop):
        sent.append(waiting.popleft())
        if not sent[-1].kind.is_request:
            break
        if not _continues(start, known.silence):
            if start.code is None and kill(start):
                asked = f"after {sent[-1].described(stop)} start {len(life.starts) + 1} neither ended nor went on"
                life.hung.append(f"{asked}, and was killed after {known.silence:.0f} s")
            break
    return sent


def _continues(start: ObservedStart, silence: float) -> bool:
    """Return whether a program that was asked to stop prints another loss; not where it ends, or hangs."""
    start.wait(_SAVE_SECONDS)
    before = len(start.losses)
    return bool(start.wait_for(lambda: len(start.losses) > before, silence))


def _took_effect(last: Disturbance, ended: bool, is_complete: bool) -> bool:
    """Return whether the last disturbance of a start took effect: a program can ignore a request."""
    return not is_complete if ended else not last.kind.is_request


def _record(start: ObservedStart, took: Disturbance | None, ended: bool) -> Start:
    return Start(
        losses=tuple(loss for _, loss in start.losses),
        times=tuple(when for when, _ in start.losses),
        code=start.code if ended else None,
        seconds=start.seconds,
        disturbance=took,
        last_words=_last_words(start.lines),
    )


def _last_words(lines: Sequence[str]) -> str:
    said = [line.strip() for line in lines if line.strip()]
    errors = [line for line in said if _ERROR.match(line)]
    of_ranks = [line for line in said if line.startswith("rank ")]
    return (errors or of_ranks or said or ["it printed nothing"])[-1]


def _described(life: Life, stop: signal.Signals) -> str:
    start = life.starts[-1]
    last = next((f"at {each.place}" for each in reversed(start.losses) if each.is_loss), "before its first loss")
    how = "it did not end" if start.code is None else f"exit code {start.code}"
    if start.disturbance:
        how = f"{start.disturbance.described(stop)} {last}; {how}"
    return f"{life.name}, start {len(life.starts)}: {start.seconds:.1f} s, {how}"
