"""Reads of images that never return, or take long: a file server that hangs, and one that is slow."""

from tests.faults.kills import WATCHDOG_LIMIT, WATCHDOG_SECONDS, ended_by_watchdog
from tests.faults.life import Fault, Life

# Each of the four threads that read meets one slow read.
_SLOW_READS = 4


def hang(rank: int | None, step: int) -> Fault:
    """Let the next read of a rank never return, or that of both; the watchdog must end the run."""

    def inject(life: Life) -> None:
        ranks = "01" if rank is None else str(rank)
        with life.run({"FAULTS_READS": f"{ranks}:{step}:inf:1", **WATCHDOG_LIMIT}) as run:
            run.wait_for_step(step)
            ended_by_watchdog(run)

    whom = "of both ranks" if rank is None else f"of rank {rank}"
    return Fault(kind="hung read", what=f"{whom} after step {step}, limit {WATCHDOG_SECONDS} s", inject=inject)


def slow(step: int, seconds: float) -> Fault:
    """Let some reads of both ranks take long: the run must wait for them, and continue."""

    def inject(life: Life) -> None:
        with life.run({"FAULTS_READS": f"01:{step}:{seconds}:{_SLOW_READS}", **WATCHDOG_LIMIT}) as run:
            run.wait_for_step(step)
            run.wait_for("a slow read has ended", 2 * _SLOW_READS)
            run.wait_for_step(max(run.losses) + 1)
            run.kill()

    return Fault(kind="slow reads", what=f"{seconds:.0f} s each after step {step}", inject=inject)
