"""Processes that are killed or suspended, without a message."""

import time

from tests.faults.launched import Lost
from tests.faults.life import Fault, Life, expect

#: Where a save is interrupted, by its number of fsync calls so far.
SAVE_STAGES = {
    0: "in the middle of the file",
    1: "before it has its name",
    2: "before the pointer names it",
    4: "before the oldest is removed",
}

# Longer than the first step takes on a busy machine.
_WATCHDOG_SECONDS = 60


def rank(number: int, step: int, delay: float = 0.0) -> Fault:
    """Kill a rank some seconds after a step."""

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
    """Kill a rank between its start and its first step."""

    def inject(life: Life) -> None:
        with life.run() as run:
            victim = run.rank(number)
            time.sleep(seconds)
            victim.kill()
            _failed(run.end())

    return Fault(kind="kill -9 of a rank", what=f"rank {number}, {seconds:.1f} s after its start", inject=inject)


def launcher(step: int) -> Fault:
    """Kill mpirun; the ranks must not continue as orphans, beside those of the next start."""

    def inject(life: Life) -> None:
        with life.run() as run:
            run.wait_for_step(step)
            run.launcher.kill()
            _failed(run.end())

    return Fault(kind="kill -9 of mpirun", what=f"after step {step}", inject=inject)


def save(number: int, stage: int) -> Fault:
    """Kill rank zero in one of its saves, counted from 1 for each start."""

    def inject(life: Life) -> None:
        with life.run(FAULTS_SAVE=f"{number}:{stage}") as run:
            _failed(run.end())
        unfinished = bool(list(life.checkpoints.glob(".step-*.partial")))
        expect(unfinished == (stage < 2), f"the save was interrupted {SAVE_STAGES[stage]}, but not as planned")

    return Fault(kind="kill -9 in a save", what=f"save {number} of this start, {SAVE_STAGES[stage]}", inject=inject)


def hang(number: int, step: int) -> Fault:
    """Suspend a rank for ever; the others must end within the limit of the watchdog."""

    def inject(life: Life) -> None:
        # Horovod takes the larger of the two.
        limits = {f"HOROVOD_STALL_{name}_TIME_SECONDS": str(_WATCHDOG_SECONDS) for name in ("CHECK", "SHUTDOWN")}
        with life.run(2, **limits) as run:
            victim = run.rank(number)
            run.wait_for_step(step)
            victim.suspend()
            # The limit, and time for a busy machine.
            _failed(run.end(_WATCHDOG_SECONDS + 60))

    return Fault(kind="SIGSTOP", what=f"rank {number} after step {step}, limit {_WATCHDOG_SECONDS} s", inject=inject)


def _failed(code: int) -> None:
    if code == 0:
        raise Lost("the launcher ended with code 0")
