"""Two starts in one output folder: one of them trains, and the other is rejected and changes nothing."""

from tests.faults.launched import Launched
from tests.faults.life import Fault, Life, expect
from training.runtime.errors import USER_ERROR

_WAIT = {"FAULTS_LOCK": "40"}

# Minutes for the run: the other start waits for its end.
_LONG_STEPS = {"FAULTS_PAUSE": "6", **_WAIT}


def later(step: int, hours: float) -> Fault:
    """Start the same again beside a run, with a clock that is hours ahead or behind."""

    def inject(life: Life) -> None:
        saved = life.saved
        run = life.launch("first", _LONG_STEPS)
        other = None
        try:
            run.wait_for_step(step)
            other = life.launch("second", {"FAULTS_CLOCK": f"0:0:{hours * 3600}", **_WAIT})
            other.end()
            _kill_the_winner(life, saved, winner=run, loser=other)
        finally:
            _kill(run, other)

    return Fault(
        kind="two starts", what=f"the second after step {step}, its clock {hours:+.1f} hours off", inject=inject
    )


def together() -> Fault:
    """Start the same twice at the same moment."""

    def inject(life: Life) -> None:
        saved = life.saved
        runs = [life.launch(name, _LONG_STEPS) for name in ("left", "right")]
        try:
            loser = Launched.first_to_end(runs)
            (winner,) = (run for run in runs if run is not loser)
            _kill_the_winner(life, saved, winner=winner, loser=loser)
        finally:
            _kill(*runs)

    return Fault(kind="two starts", what="at the same moment", inject=inject)


def _kill_the_winner(life: Life, saved: int, *, winner: Launched, loser: Launched) -> None:
    code = loser.end()
    expect(code == USER_ERROR, f"the second start ended with code {code}, not {USER_ERROR}")
    expect("another run trains" in loser.stderr, "the second start did not print why it was rejected")
    expect(not loser.losses, "the second start has trained")
    # The other one trains on.
    winner.wait_for_step(max(winner.losses, default=0) + 1)
    winner.kill()
    life.starts.append(winner)
    life.check(winner, saved)


def _kill(*runs: Launched | None) -> None:
    for run in runs:
        if run:
            run.kill()
