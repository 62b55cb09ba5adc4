"""Processes that are killed or suspended, without a message."""

import time

from tests.faults.launched import Launched, Lost
from tests.faults.life import Fault, Life, expect

#: Where a save is interrupted, by its number of fsync calls so far.
SAVE_STAGES = {
    0: "in the middle of the file",
    1: "before it has its name",
    2: "before the pointer names it",
    4: "before the oldest is removed",
}

WATCHDOG_SECONDS = 60
#: Variables of a run with this limit, which holds from its first step on: that one takes longer on a busy machine.
WATCHDOG_LIMIT = {"FAULTS_WATCHDOG": str(WATCHDOG_SECONDS)}

# Of each fsync: a write that lasts until training has continued.
_SLOW_SECONDS = 5


def rank(number: int, step: int, delay: float = 0.0) -> Fault:
    """Kill a rank some seconds after a step."""

    def inject(life: Life) -> None:
        with life.run() as run:
            victim = run.rank(number)
            run.wait_for_step(step)
            time.sleep(delay)
            victim.kill()
            failed(run.end())

    return Fault(
        kind="kill -9 of a rank", what=f"rank {number}, {delay * 1000:.0f} ms after step {step}", inject=inject
    )


def rank_while_starting(number: int, seconds: float) -> Fault:
    """Kill a rank between its start and its first step."""

    def inject(life: Life) -> None:
        # Not forked: this start imports TensorFlow, too.
        with life.run(forked=False) as run:
            victim = run.rank(number)
            time.sleep(seconds)
            victim.kill()
            failed(run.end())

    return Fault(kind="kill -9 of a rank", what=f"rank {number}, {seconds:.1f} s after its start", inject=inject)


def launcher(step: int) -> Fault:
    """Kill the launcher; the ranks must not continue as orphans, beside those of the next start."""

    def inject(life: Life) -> None:
        # Not forked: a rank whose parent is the fork server would not learn of it by itself.
        with life.run(forked=False) as run:
            run.wait_for_step(step)
            run.launcher.kill()
            failed(run.end())

    return Fault(kind="kill -9 of the launcher", what=f"after step {step}", inject=inject)


def save(number: int, stage: int) -> Fault:
    """Kill rank zero in one of its saves, counted from 1 for each start."""

    def inject(life: Life) -> None:
        with life.run({"FAULTS_SAVE": f"{number}:{stage}"}) as run:
            failed(run.end())
        unfinished = bool(list(life.checkpoints.glob(".step-*.partial")))
        expect(unfinished == (stage < 2), f"the save was interrupted {SAVE_STAGES[stage]}, but not as planned")

    return Fault(kind="kill -9 in a save", what=f"save {number} of this start, {SAVE_STAGES[stage]}", inject=inject)


def beside_write(number: int | None, step: int) -> Fault:
    """Kill a rank, or the launcher where none is given, while a checkpoint is being written and training continues."""

    def inject(life: Life) -> None:
        slow = {"FAULTS_FSYNC": f"{step}:{_SLOW_SECONDS}"}
        with life.run(slow, forked=number is not None) as run:
            victim = run.launcher if number is None else run.rank(number)
            run.wait_for("slow fsync")
            run.wait_for_step(max(run.losses) + 1)
            expect(bool(list(life.checkpoints.glob(".step-*.partial"))), "training did not continue during the write")
            victim.kill()
            failed(run.end())

    whom = "the launcher" if number is None else f"rank {number}"
    return Fault(kind="kill -9 beside a write", what=f"{whom}, in a write after step {step}", inject=inject)


def hang(number: int, step: int) -> Fault:
    """Suspend a rank for ever; the others must end within the limit of the watchdog."""

    def inject(life: Life) -> None:
        with life.run(WATCHDOG_LIMIT) as run:
            victim = run.rank(number)
            run.wait_for_step(step)
            victim.suspend()
            ended_by_watchdog(run)

    return Fault(kind="SIGSTOP", what=f"rank {number} after step {step}, limit {WATCHDOG_SECONDS} s", inject=inject)


def ended_by_watchdog(run: Launched) -> None:
    """Wait for the end of a run that hangs, and raise Lost unless the watchdog ended it and printed where it hangs."""
    failed(run.end())
    expect("Timeout (0:" in run.stderr, "the watchdog did not print where the rank hangs")


def failed(code: int) -> None:
    """Raise Lost where a disturbed run reports success."""
    if code == 0:
        raise Lost("the launcher ended with code 0")
