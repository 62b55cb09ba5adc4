import argparse
import time

import pytest

from training.runtime.every import Every, Timer, every


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500steps", Every(500, "steps")),
        ("1step", Every(1, "steps")),
        ("2epochs", Every(2, "epochs")),
        ("1epoch", Every(1, "epochs")),
        ("10min", Every(10, "min")),
    ],
)
def test_takes_steps_epochs_and_minutes(text: str, expected: Every) -> None:
    assert every(text) == expected


@pytest.mark.parametrize("text", ["", "500", "0steps", "-1min", "1.5epochs", "10 min", "10minutes", "min", "5Steps"])
def test_rejects_everything_else_with_the_allowed_forms(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        every(text)
    assert str(caught.value) == (
        f"is {text!r}; give a whole number of steps, epochs or minutes, such as 500steps, 2epochs or 10min"
    )


@pytest.mark.parametrize("text", ["1step", "1epoch", "2epochs", "1min"])
def test_is_shown_as_it_is_given(text: str) -> None:
    assert str(every(text)) == text


def test_is_due_after_multiples_of_its_unit_only() -> None:
    steps, epochs, minutes = Every(3, "steps"), Every(3, "epochs"), Every(3, "min")
    assert [steps.after_step(step) for step in (1, 2, 3, 4, 6)] == [False, False, True, False, True]
    assert [epochs.after_epoch(epoch) for epoch in (1, 3, 6)] == [False, True, True]
    assert [minutes.after_seconds(seconds) for seconds in (0, 179, 180, 9999)] == [False, False, True, True]
    assert not any([steps.after_epoch(3), steps.after_seconds(9999), epochs.after_step(3), minutes.after_step(3)])


def test_is_longer_than_a_run_in_steps_or_epochs() -> None:
    given = [every(text).exceeds(steps=20, epochs=2) for text in ("20steps", "21steps", "2epochs", "3epochs", "99min")]
    assert given == [False, True, False, True, False]


def test_a_timer_is_due_after_its_minutes_until_it_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    timer, other = Timer(Every(2, "min")), Timer(Every(2, "steps"))
    now += 119
    assert not timer.due
    now += 1
    assert timer.due
    assert not other.due
    timer.restart()
    assert not timer.due


def test_a_wall_clock_that_jumps_makes_no_timer_due(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = Timer(Every(1, "min"))
    monkeypatch.setattr(time, "time", lambda: 9e9)
    assert not timer.due


@pytest.mark.parametrize("unit", ["steps", "epochs", "min"])
def test_what_failed_is_due_again_after_a_minute(monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    timer = Timer(Every(9, unit))
    timer.retry()
    now += 59
    assert not timer.due
    now += 1
    assert timer.due
    timer.restart()
    now += 60
    assert not timer.due
