import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.training.pods import test_launcher
from training.pods.repeated_training import Starts

# The launcher with a script as its launch command, without pauses.
repeat = test_launcher.repeat


@dataclass
class Job:
    """A job with a clock that the test sets."""

    now: float = 0.0
    starts: Starts = field(init=False)

    def __post_init__(self) -> None:
        self.starts = Starts(lambda: self.now)

    def start(self, *lines: str, seconds: float = 2460.0) -> list[str]:
        """Run the ranks for so long; return the lines that the launcher prints meanwhile."""
        self.starts.begin()
        return [*self._printed(lines), *self.wait(seconds)]

    def wait(self, seconds: float) -> list[str]:
        self.now += seconds
        return [line] if (line := self.starts.line()) else []

    def _printed(self, lines: Sequence[str]) -> Iterator[str]:
        for line in lines:
            self.starts.read(f"{line}\n".encode(), 1)
            if said := self.starts.line():
                yield said


PAGE = "docs/exact-resume.md shows how a script resumes"
UNKNOWN = (
    f"started again after 41 minutes; the output does not show whether the program resumes or begins again: {PAGE}"
)


def again(place: str) -> str:
    return f"started again without a checkpoint, at {place} as the start before; 41 minutes are repeated: {PAGE}"


KERAS = [f"[1,0]<stdout>:Epoch {number}/9" for number in range(1, 10)]
DDP = [f"[0]: epoch {epoch} step {step} loss 0.5" for epoch in (0, 1) for step in (0, 100, 200)]
BY_STEP = [f"step {step}: loss 2.3" for step in range(0, 500, 50)]
TRAINER = [f"{{'loss': 1.2, 'epoch': {number / 100}}}" for number in range(1, 9)]


@pytest.mark.parametrize(
    ("lines", "place"),
    [(KERAS, "epoch 1"), (DDP, "epoch 0, step 0"), (BY_STEP, "step 0"), (TRAINER, "epoch 0.01")],
)
def test_ranks_that_print_the_same_beginning_repeat_their_training(lines: list[str], place: str) -> None:
    job = Job()
    assert job.start(*lines) == []
    # Known at the second place.
    assert job.start(*lines[:2], seconds=1) == [again(place)]
    assert job.wait(7200) == []


def test_each_start_that_repeats_is_named_with_its_time() -> None:
    job = Job()
    job.start(*KERAS[:3])
    assert job.start(*KERAS[:4], seconds=90) == [again("epoch 1")]
    assert job.start(*KERAS[:4]) == [again("epoch 1").replace("41 minutes", "90 seconds")]


@pytest.mark.parametrize(
    "lines",
    [
        # BackupAndRestore prints nothing itself.
        KERAS[4:],
        ["epoch 1 step 300 loss 0.4", "epoch 1 step 400 loss 0.4"],
        ["resuming after step 270, 0 images into epoch 7: written by 2 ranks, now 2"],
        ["Resuming training from snapshot at Epoch 5"],
        ["Restoring states from the checkpoint path at lightning_logs/version_0"],
        ["  Continuing training from checkpoint, will skip to saved global_step"],
        ["successfully loaded checkpoint from /fsx/a at iteration 500"],
        ["INFO checkpoint /fsx/last.pt loaded", *DDP],
    ],
)
def test_ranks_that_resume_are_not_named(lines: list[str]) -> None:
    job = Job()
    job.start(*(DDP if "step" in lines[0] else KERAS))
    assert job.start(*lines) == []


@pytest.mark.parametrize(
    "line",
    [
        "no checkpoint to resume from",
        "Namespace(resume=None, epochs=9)",
        "could not find checkpoint, training from scratch; nothing restored",
        "Loading checkpoint shards: 100%",
        "batch: 16 images per rank x 2 ranks",
    ],
)
def test_words_that_say_nothing_of_a_resume_do_not_count(line: str) -> None:
    job = Job()
    job.start(line, *KERAS)
    assert job.start(f"{line} (2)", *KERAS[:2], seconds=1) == [again("epoch 1")]


def test_a_line_of_the_settings_that_each_start_prints_does_not_count() -> None:
    job = Job()
    job.start("resume from: auto", *KERAS)
    assert job.start("resume from: auto", *KERAS[:2], seconds=1) == [again("epoch 1")]


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["training"] * 100,
        # The steps may be counted from each start, which began in the same epoch.
        [f"epoch 1 step {step} loss 0.5" for step in range(9)],
        KERAS[:2],
    ],
)
def test_an_unknown_start_is_named_once_and_late(lines: list[str]) -> None:
    job = Job()
    job.start(*lines)
    assert job.start(*lines, seconds=599) == []
    assert job.wait(1) == [UNKNOWN]
    assert job.start(*lines) == []


def test_starts_that_fail_at_once_repeat_nothing() -> None:
    job = Job()
    assert job.start("error", seconds=5) == []
    assert job.start("error", seconds=5) == []
    job.start(*KERAS)
    assert job.start("error", seconds=5) == []
    assert job.start(*KERAS[:2]) == [again("epoch 1")]


def test_parts_of_lines_and_progress_bars_are_read() -> None:
    job = Job()
    for part in (b"\rEpo", b"ch 1 loss 1\r", b"Epoch 2 loss 1\rEpoch 3", b" loss 1\r"):
        if part.startswith(b"\rEpo"):
            job.starts.begin()
        job.starts.read(part, 1)
    job.now += 2460
    assert job.start(*KERAS[:2], seconds=1) == [again("epoch 1")]


def test_the_launcher_prints_it(repeat: test_launcher.Repeat, tmp_path: Path) -> None:
    epochs = "for epoch in 1 2 3; do echo Epoch $epoch/3; done; sleep 0.7"
    done = repeat(f"{epochs}; {test_launcher.counted(tmp_path, 137, 0)}", restarts=1)
    named = r"^started again without a checkpoint, at epoch 1 as the start before; \d+ seconds are repeated: "
    assert len(re.findall(named, done.stdout, re.MULTILINE)) == 1
