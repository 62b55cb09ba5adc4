"""The verdict on lives of a program."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training_workloads.resume_test import working_copy
from training_workloads.resume_test.lives import Life, Start
from training_workloads.resume_test.printed_losses import printed_losses
from training_workloads.resume_test.verdict import Judged, Verdict, compare, judge, order_of, resumes, worst

FULL = [f"step {step}: loss {1 / step:.4f} lr 0.1" for step in range(1, 11)]
SAME = {"model.pt": {"in": [True, True], "arrays": ["optimizer.m", "w"], "differ": {}}}


def start(lines: Sequence[str], code: int | None = 0) -> Start:
    losses = tuple(printed_losses(lines))
    times = tuple(0.1 * (number + 1) for number in range(len(losses)))
    return Start(losses=losses, times=times, code=code, seconds=1.0, last_words="ValueError: x")


def life(*starts: Start) -> Life:
    return Life(name="life", folder=Path("folder"), starts=list(starts))


UNDISTURBED = life(start(FULL))


def judged(lived: Life, files: dict[str, Any] = SAME, *, resumes_at_all: bool | None = None) -> Judged:
    at_all = resumes(lived, order_of(UNDISTURBED)) if resumes_at_all is None else resumes_at_all
    return judge(lived, UNDISTURBED, files, resumes_at_all=at_all)


def test_exact() -> None:
    found = judged(life(start(FULL[:5], 137), start(FULL[3:])))
    assert (found.verdict, found.repeated, found.why) == (Verdict.EXACT, [2], [])


def test_equal_bits_after_a_start_from_zero_are_not_exact() -> None:
    found = judged(life(start(FULL[:5], 137), start(FULL)))
    assert (found.verdict, found.repeated) == (Verdict.AGAIN, [5])


def test_a_start_before_the_first_checkpoint_may_begin_at_zero() -> None:
    lived = life(start(FULL[:2], 137), start(FULL[:5], 137), start(FULL[4:]))
    assert judged(lived).verdict == Verdict.EXACT


def test_a_start_from_zero_after_one_that_resumed_has_lost_its_checkpoint() -> None:
    lived = life(start(FULL[:5], 137), start(FULL[4:7], 137), start(FULL))
    assert judged(lived).verdict == Verdict.AGAIN


def test_arrays_decide_and_printed_losses_say_from_where() -> None:
    other = ["step 5: loss 0.3333 lr 0.1", *FULL[5:]]
    files = {"model.pt": {"in": [True, True], "arrays": ["w"], "differ": {"w": 0.5}}}
    found = judged(life(start(FULL[:4], 137), start(other)), files)
    assert (found.verdict, found.loss) == (Verdict.DIFFERENT, ("step 5, loss", "0.2000", "0.3333"))
    assert found.arrays == {"model.pt w": 0.5}
    assert any("optimizer" in why for why in found.why)


def test_running_means_after_a_resume_are_no_difference_where_the_arrays_are_equal() -> None:
    assert judged(life(start(FULL[:4], 137), start(["step 5: loss 0.9", *FULL[5:]]))).verdict == Verdict.EXACT


def test_without_arrays_the_printed_losses_decide() -> None:
    lived = life(start(FULL[:4], 137), start(["step 5: loss 0.9", *FULL[5:]]))
    assert judged(lived, {}).verdict == Verdict.DIFFERENT


def test_arrays_that_the_program_has_not_written_do_not_decide(tmp_path: Path) -> None:
    lives = [Life(name=name, folder=tmp_path / name) for name in ("undisturbed", "killed 1")]
    for each in lives:
        each.folder.mkdir()
        np.save(each.folder / "data.npy", np.arange(3.0))
        each.copied = working_copy.states(each.folder)
    assert compare(sys.executable, lives[0], lives[1:]) == [{}]
    np.save(lives[0].folder / "data.npy", np.arange(4.0))
    np.save(lives[1].folder / "weights.npy", np.arange(4.0))
    (found,) = compare(sys.executable, lives[0], lives[1:])
    assert {name: each["in"] for name, each in found.items()} == {
        "data.npy": [True, True],
        "weights.npy": [False, True],
    }


def test_another_learning_rate_is_the_reason() -> None:
    other = [line.replace("lr 0.1", "lr 0.05").replace("loss 0", "loss 1") for line in FULL[4:]]
    files = {"model.pt": {"in": [True, True], "arrays": ["optimizer.m"], "differ": {"optimizer.m": 0.5}}}
    assert judged(life(start(FULL[:4], 137), start(other)), files).why == [
        "the learning rate is 0.05, not 0.1, at step 5"
    ]


def test_the_beginning_of_an_epoch() -> None:
    full = [f"epoch {epoch} step {step} loss {epoch}.{step}" for epoch in range(3) for step in range(4)]
    lived = life(start(full[:7], 137), start([*full[4:7], "epoch 1 step 3 loss 9.9", *full[8:]]))
    files = {"model.pt": {"in": [True, True], "arrays": ["optimizer.m"], "differ": {"optimizer.m": 0.5}}}
    found = judge(lived, life(start(full)), files, resumes_at_all=True)
    assert found.why[0] == "it resumes at the beginning of an epoch: the samples before the kill are seen twice"


def test_one_loss_an_epoch_says_nothing_of_the_place_in_the_epoch() -> None:
    full = [line for epoch in range(1, 9) for line in (f"Epoch {epoch}/8", f"128/128 - 1s - loss: 0.{epoch}")]
    lived = life(start(full[:8], 137), start([*full[8:-1], "128/128 - 1s - loss: 9.9"]))
    files = {"model.pt": {"in": [True, True], "arrays": ["optimizer.m"], "differ": {"optimizer.m": 0.5}}}
    found = judge(lived, life(start(full)), files, resumes_at_all=True)
    assert found.why == ["the order of the data, or a random state, may be another one after the start"]


def test_arrays_without_names_say_nothing_of_the_optimizer() -> None:
    files = {"checkpoint/__0_0.distcp": {"in": [True, True], "arrays": ["archive/data/0"], "differ": {"data/0": None}}}
    found = judged(life(start(FULL[:4], 137), start(FULL[4:])), files)
    assert (found.verdict, found.why) == (Verdict.DIFFERENT, [])


BARS = [f"Epoch {epoch}/2\n{step}/4 [==>...] - loss: {epoch}.{step}\r" for epoch in (1, 2) for step in (1, 2, 3)]


def test_a_bar_shows_the_place_and_its_numbers_are_not_compared() -> None:
    full = [line for text in BARS for line in text.split("\n")]
    other = [line.replace("1/4", "2/4").replace("2.3", "2.9") for line in full[6:]]
    assert judge(life(start(full)), life(start(full)), {}, resumes_at_all=True).loss is None
    found = judge(life(start(full[:6], 137), start(other)), life(start(full)), {}, resumes_at_all=True)
    assert (found.verdict, found.loss, found.resumed) == (Verdict.EXACT, None, ["epoch 2, step 2, loss"])


def test_a_start_from_zero_whose_bar_shows_another_first_step() -> None:
    full = [line for text in BARS for line in text.split("\n")][1:]
    found = judge(life(start(full[2:], 137), start(full)), life(start(full[2:])), {}, resumes_at_all=False)
    assert found.verdict == Verdict.AGAIN


def test_each_number_of_one_place_may_be_printed_again() -> None:
    full = ["step 1: loss 1.0", "step 2: loss 0.5", "step 2: loss 0.4"]
    assert judged_of(full, full[:2], full[1:]).loss is None
    assert judged_of(full, full[:2], ["step 2: loss 0.3"]).loss == ("step 2, loss", "0.4", "0.3")


def judged_of(full: list[str], before: list[str], after: list[str]) -> Judged:
    return judge(life(start(before, 137), start(after)), life(start(full)), {}, resumes_at_all=True)


def test_exit_code_75_without_a_saved_state_is_a_note() -> None:
    saved = "start 1 ended with exit code 75, which says that its state is saved, but the next one repeats 3 losses"
    assert judged(life(start(FULL[:5], 75), start(FULL[2:]))).notes == [saved]
    assert judged(life(start(FULL[:5], 75), start(FULL[5:]))).notes == []


@pytest.mark.parametrize(
    ("last", "files", "why"),
    [
        (start([], 1), SAME, "start 2 ended with exit code 1: ValueError: x"),
        (start(FULL, None), SAME, "start 2 did not end"),
        (
            start(FULL[5:]),
            {"model.pt": {"in": [True, False], "arrays": ["w"], "differ": {}}},
            "it ended without the files of the undisturbed run: model.pt",
        ),
    ],
)
def test_lost(last: Start, files: dict[str, Any], why: str) -> None:
    found = judged(life(start(FULL[:5], 137), last), files)
    assert (found.verdict, found.why) == (Verdict.LOST, [why])


def test_the_worst_of_all_lives_counts() -> None:
    assert worst([Verdict.EXACT, Verdict.LOST, Verdict.AGAIN]) == Verdict.LOST
