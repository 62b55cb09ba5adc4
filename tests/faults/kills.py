"""Processes that are killed, or stop for ever, without a word."""

import time

from tests.faults.launched import Lost
from tests.faults.life import Fault, Life, expect

#: Where a save is interrupted, by the number of fsync calls that it has come to.
SAVE_STAGES = {
    0: "in the middle of the file",
    1: "before it has its name",
    2: "before the pointer names it",
    4: "before the oldest is removed",
}

_STALL_SECONDS = 15


def rank(number: int, step: int, delay: float = 0.0) -> Fault:
    """Kills a rank some seconds after a step."""

    def inject(life: Life) -> None:
        with life.run() as run:
            victim = run.rank(number)
            run.wait_for_step(step)
            time.sleep(delay)
            victim.kill()
            _failed(run.end())

    return Fault(
        kind="kill -9 of a rank", what=f"rank {number}, {delay * 1000:.0f} ms after step {step}", inject=inject
    )


def rank_while_starting(number: int, seconds: float) -> Fault:
    """Kills a rank between its start and its first step."""

    def inject(life: Life) -> None:
        with life.run() as run:
            victim = run.rank(number)
            time.sleep(seconds)
            victim.kill()
            _failed(run.end())

    return Fault(kind="kill -9 of a rank", what=f"rank {number}, {seconds:.1f} s after its start", inject=inject)


def launcher(step: int) -> Fault:
    """Kills mpirun; the ranks must not go on without it, beside those of the next start."""

    def inject(life: Life) -> None:
        with life.run() as run:
            run.wait_for_step(step)
            run.launcher.kill()
            _failed(run.end())

    return Fault(kind="kill -9 of mpirun", what=f"after step {step}", inject=inject)


def save(number: int, stage: int) -> Fault:
    """Kills rank 0 in one of its saves, counted from 1 for each start."""

    def inject(life: Life) -> None:
        with life.run(FAULTS_SAVE=f"{number}:{stage}") as run:
            _failed(run.end())
        unfinished = bool(list(life.checkpoints.glob(".step-*.partial")))
        expect(unfinished == (stage < 2), f"the save was interrupted {SAVE_STAGES[stage]}, but not as it was meant")

    return Fault(kind="kill -9 in a save", what=f"save {number} of this start, {SAVE_STAGES[stage]}", inject=inject)


def hang(number: int, step: int) -> Fault:
    """Stops a rank for ever; the others must end within the limit of the watchdog."""

    def inject(life: Life) -> None:
        # Horovod takes the larger of the two.
        limits = {f"HOROVOD_STALL_{name}_TIME_SECONDS": str(_STALL_SECONDS) for name in ("CHECK", "SHUTDOWN")}
        with life.run(**limits) as run:
            victim = run.rank(number)
            run.wait_for_step(step)
            victim.suspend()
            _failed(run.end(_STALL_SECONDS + 20))

    return Fault(kind="SIGSTOP", what=f"rank {number} after step {step}, limit {_STALL_SECONDS} s", inject=inject)


def _failed(code: int) -> None:
    if code == 0:
        raise Lost("the launcher says that all is well")
