"""The time that disturbances take, which the user reads before they begin."""

from pathlib import Path

import pytest

from training_workloads.resume_test.disturbances import drawn
from training_workloads.resume_test.lives import Life, Start
from training_workloads.resume_test.printed_losses import printed_losses
from training_workloads.resume_test.resume_test import _estimate, _known


def life(seconds: float) -> Life:
    losses = tuple(printed_losses(f"step {step}: loss 1" for step in range(10)))
    times = tuple(1.0 + step for step in range(10))
    start = Start(losses=losses, times=times, code=0, seconds=seconds, last_words="")
    return Life(name="life", folder=Path("folder"), starts=[start])


@pytest.mark.parametrize(
    ("kills", "runs", "least", "most"),
    [
        # A start is 1 s and 10 s of training.
        (1, "1 disturbance in 1 run", "12 s", "22 s"),
        (200, "200 disturbances in 34 runs", "10 minutes", "26 minutes"),
        (20_000, "20000 disturbances in 3334 runs", "15.7 hours", "43.4 hours"),
    ],
)
def test_the_least_is_that_of_a_program_that_resumes_and_the_most_that_of_one_that_does_not(
    kills: int, runs: str, least: str, most: str
) -> None:
    undisturbed = life(11.0)
    assert _estimate(_known(undisturbed, undisturbed), undisturbed, drawn(kills, 2, seed=0)) == (
        f"{runs}: about {least} if each start resumes where it ended, {most} if each begins at the first step"
    )
