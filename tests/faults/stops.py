"""Stop requests, as from Spot, an eviction or `kubectl delete`: nothing at all may be lost."""

import signal

from tests.faults.life import Fault, Life, expect
from training.runtime.stop_request import STOPPED


def request(rank: int | None, step: int, beside_write: bool = False) -> Fault:
    """Send a stop request to a rank, or to the launcher where none is given; perhaps while a checkpoint is written."""

    def inject(life: Life) -> None:
        with life.run({"FAULTS_FSYNC": f"{step}:1"} if beside_write else {}) as run:
            launcher = life.program.launcher
            process, number = (run.launcher, launcher.stop) if rank is None else (run.rank(rank), signal.SIGTERM)
            expected = launcher.stopped if rank is None else STOPPED
            run.wait_for_step(step)
            if beside_write:
                run.wait_for("slow fsync")
            process.send_signal(number)
            code = run.end()
            expect(code == expected, f"it ended with code {code}, not {expected}")
        last = max(run.losses)
        expect(life.saved == last, f"it stopped after step {last}, but the newest checkpoint is of step {life.saved}")
        life.promised = last

    whom = "to the launcher" if rank is None else f"SIGTERM to rank {rank}"
    moment = "in a write after" if beside_write else "after"
    return Fault(kind="stop request", what=f"{whom} {moment} step {step}", inject=inject)
