"""A wall clock that jumps by hours, in a rank or between two starts: nothing may depend on it."""

import os

from tests.faults.life import STEPS, Fault, Life, expect

#: Options of a run whose checkpoints depend on a clock.
OPTIONS = ("--checkpoint-every", "1min")


def jump(rank: int, step: int, hours: float) -> Fault:
    """Let the clock of a rank jump after a step: the run must train and save on; then kill it."""

    def inject(life: Life) -> None:
        with life.run({"FAULTS_CLOCK": f"{rank}:{step}:{hours * 3600}"}) as run:
            run.wait_for_step(step)
            last = max(run.losses)
            run.wait_until(lambda: life.saved > last, f"a save after step {last}")
            expect(max(run.losses) < STEPS, "after the jump it saved at its end only")
            run.kill()

    return Fault(kind="jumping clock", what=f"{_signed(hours)} on rank {rank} after step {step}", inject=inject)


def files(hours: float) -> Fault:
    """Move the times of all files in the output folder, as if the last start had had another clock."""

    def inject(life: Life) -> None:
        for path in [*life.output.rglob("*"), life.output]:
            seconds = path.stat().st_mtime + hours * 3600
            os.utime(path, (seconds, seconds))

    return Fault(kind="files of another clock", what=_signed(hours), inject=inject)


def _signed(hours: float) -> str:
    return f"{hours:+.1f} hours"
