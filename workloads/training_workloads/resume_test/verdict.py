"""The verdict on a program that was killed: exact, different, started again, or lost; and why."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

from training_workloads.exit_codes import STOPPED
from training_workloads.resume_test import array_differences
from training_workloads.resume_test.lives import Life, Start
from training_workloads.resume_test.printed_losses import LEARNING_RATE
from training_workloads.resume_test.training_order import TrainingOrder

__all__ = ["Judged", "Verdict", "compare", "judge", "order_of", "resumes", "worst"]


class Verdict(StrEnum):
    """What became of a program that was killed and started again; the worst is last."""

    EXACT = "exact"
    DIFFERENT = "continued, but different"
    AGAIN = "started again from zero"
    LOST = "lost"


# Names of an optimizer's arrays in the checkpoints of Keras, PyTorch and this project's users.
_OPTIMIZER = ("optim", "momentum", "exp_avg", "velocit", "adam", "sgd", "slot")

# The files of torch.distributed.checkpoint have the names of their arrays in another file.
_WITHOUT_NAMES = ".distcp"


@dataclass(kw_only=True, slots=True)
class Judged:
    """A life beside the undisturbed one.

    Attributes:
        verdict: The verdict.
        loss: The first printed loss that is another one: its place, the number of the undisturbed run, and its own.
        learning_rate: The same of a learning rate.
        arrays: Names of the files and arrays that differ, with the largest difference of two elements, if any.
        compared: Number of arrays that both have.
        resumed: The place of the first loss of each start but the first; empty where it printed none.
        repeated: The number of losses of each start but the first that the start before had printed, too.
        why: What is known of the reasons.
        notes: What else a user should know.
    """

    verdict: Verdict = Verdict.EXACT
    loss: tuple[str, str, str] | None = None
    learning_rate: tuple[str, str, str] | None = None
    arrays: dict[str, float | None] = field(default_factory=dict)
    compared: int = 0
    resumed: list[str] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(python: str, undisturbed: Life, others: Sequence[Life]) -> list[dict[str, Any]]:
    """Return the findings of `array_differences` on the files that the program has written in either life, for each.

    It is run by the Python that reads these files.
    """
    folders = [str(life.folder) for life in (undisturbed, *others)]
    command = [python, str(array_differences.__file__), *folders]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: list[dict[str, Any]] = json.loads(answer.splitlines()[-1])
    own = undisturbed.written
    return [
        {name: each for name, each in files.items() if name in own | other.written}
        for files, other in zip(found, others, strict=True)
    ]


def order_of(life: Life) -> TrainingOrder:
    """Return the order of the last start of the undisturbed life."""
    last = life.starts[-1]
    printed = [(each.place, when) for each, when in zip(last.losses, last.times, strict=True) if each.is_loss]
    return TrainingOrder([place for place, _ in printed], [when for _, when in printed])


def resumes(life: Life, order: TrainingOrder) -> bool:
    """Return whether any start of a life continued after the first loss."""
    return any(order.number(place) > 0 for start in life.starts[1:] for place in _places(start)[:1])


def judge(life: Life, undisturbed: Life, files: Mapping[str, Any], *, resumes_at_all: bool) -> Judged:
    """Judge a life.

    Args:
        life: The life.
        undisturbed: The life without disturbances.
        files: What `compare` returns for the undisturbed life and this one.
        resumes_at_all: Whether any life of the program resumed: if so, a start may have been ended before it saved.
    """
    judged, order = Judged(), order_of(undisturbed)
    common = {name: each for name, each in files.items() if all(each["in"])}
    judged.compared = sum(len(each["arrays"]) for each in common.values())
    for name, each in common.items():
        judged.arrays |= {f"{name} {array}".rstrip(): size for array, size in each["differ"].items()}
    for is_loss in (True, False):
        found = next(_other_numbers(life, undisturbed, is_loss), None)
        if is_loss:
            judged.loss = found
        else:
            judged.learning_rate = found
    for number, (before, after) in enumerate(pairwise(life.starts), start=1):
        judged.resumed.append(next(iter(_places(after)), ""))
        judged.repeated.append(_repeated(before, after, order))
        if before.code == STOPPED and judged.repeated[-1] > 1:
            saved = f"start {number} ended with exit code {STOPPED}, which says that its state is saved"
            judged.notes.append(f"{saved}, but the next one repeats {judged.repeated[-1]} losses")
    began_again = _began_again(life, judged, order, resumes_at_all)
    judged.verdict = _verdict(life, judged, files, began_again)
    judged.why = list(_reasons(life, judged, order, files))
    return judged


def _verdict(life: Life, judged: Judged, files: Mapping[str, Any], began_again: bool) -> Verdict:
    had_files = any(each["in"][0] for each in files.values())
    if not life.ended_well or (had_files and not judged.compared):
        return Verdict.LOST
    if began_again:
        return Verdict.AGAIN
    differs = judged.arrays or (judged.loss and not judged.compared)
    return Verdict.DIFFERENT if differs else Verdict.EXACT


def _began_again(life: Life, judged: Judged, order: TrainingOrder, resumes_at_all: bool) -> bool:
    """Return whether a start began at the first loss though there was, or should have been, a checkpoint."""
    resumed = False
    for before, place in zip(life.starts, judged.resumed, strict=False):
        first = bool(place) and order.number(place) == 0
        if first and (resumed or (not resumes_at_all and len(set(_places(before))) > 1)):
            return True
        resumed = resumed or not first
    return False


def _reasons(life: Life, judged: Judged, order: TrainingOrder, files: Mapping[str, Any]) -> Iterator[str]:
    last = life.starts[-1]
    if judged.verdict == Verdict.LOST:
        if last.code is None:
            yield f"start {len(life.starts)} did not end"
        elif last.code:
            yield f"start {len(life.starts)} ended with exit code {last.code}: {last.last_words}"
        else:
            names = ", ".join(name for name, each in files.items() if each["in"][0])
            yield f"it ended without the files of the undisturbed run: {names}"
    elif judged.verdict == Verdict.AGAIN:
        yield "it reads no checkpoint at its start, or has written none before it was killed"
    elif judged.verdict == Verdict.DIFFERENT:
        yield from _differences(judged, order, files)


def _differences(judged: Judged, order: TrainingOrder, files: Mapping[str, Any]) -> Iterator[str]:
    named = {name: each for name, each in files.items() if not name.endswith(_WITHOUT_NAMES)}
    names = [f"{name} {array}".lower() for name, each in named.items() for array in each["arrays"] if array]
    if names and not any(word in name for name in names for word in _OPTIMIZER):
        yield "no array in its files has the name of an optimizer's: momentum begins at zero"
    if judged.learning_rate:
        place, one, other = judged.learning_rate
        yield f"the learning rate is {other}, not {one}, at {place.removesuffix(f', {LEARNING_RATE}')}"
    if _begins_epochs_again(judged, order):
        yield "it resumes at the beginning of an epoch: the samples before the kill are seen twice"
    if judged.loss and not judged.learning_rate:
        yield "the order of the data, or a random state, may be another one after the start"


def _begins_epochs_again(judged: Judged, order: TrainingOrder) -> bool:
    begun = [place for place in judged.resumed if place]
    return bool(begun) and all(order.number(place) in order.first_of_epochs for place in begun)


def _places(start: Start) -> list[str]:
    return [each.place for each in start.losses if each.is_loss]


def _repeated(before: Start, after: Start, order: TrainingOrder) -> int:
    reached = max(map(order.number, _places(before)), default=-1)
    begun = next(map(order.number, _places(after)), reached + 1)
    return max(0, reached + 1 - begun)


def _other_numbers(life: Life, undisturbed: Life, is_loss: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the numbers that the undisturbed life has not printed at their place, in the order of the training."""
    printed, others = _numbers([undisturbed.starts[-1]], is_loss), _numbers(life.starts, is_loss)
    for where, values in printed.items():
        for other in others.get(where, ()):
            if other not in values:
                yield where[1], values[-1], other


def _numbers(starts: Sequence[Start], is_loss: bool) -> dict[tuple[str, str], list[str]]:
    """Return the numbers of each rank and place that no bar has drawn over."""
    found: dict[tuple[str, str], list[str]] = {}
    for start in starts:
        for each in start.losses:
            if each.is_loss == is_loss and not each.is_redrawn:
                found.setdefault((each.rank, each.place), []).append(each.value)
    return found


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of several verdicts."""
    return max(verdicts, key=list(Verdict).index)
