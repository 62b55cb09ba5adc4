"""Stop requests, as from Spot, an eviction or `kubectl delete`: nothing at all may be lost."""

import signal

from tests.faults.life import Fault, Life, expect
from training.runtime.stop_request import STOPPED


def request(rank: int | None, step: int, beside_write: bool = False) -> Fault:
    """Send a stop request to a rank, or to mpirun where no rank is given; perhaps while a checkpoint is written."""

    def inject(life: Life) -> None:
        with life.run({"FAULTS_FSYNC": f"{step}:1"} if beside_write else {}) as run:
            process, number = (run.launcher, signal.SIGUSR1) if rank is None else (run.rank(rank), signal.SIGTERM)
            run.wait_for_step(step)
            if beside_write:
                run.wait_for("slow fsync")
            process.send_signal(number)
            code = run.end()
            expect(code == STOPPED, f"it ended with code {code}, not {STOPPED}")
        last = max(run.losses)
        expect(life.saved == last, f"it stopped after step {last}, but the newest checkpoint is of step {life.saved}")
        life.promised = last

    whom = "SIGUSR1 to mpirun" if rank is None else f"SIGTERM to rank {rank}"
    moment = "in a write after" if beside_write else "after"
    return Fault(kind="stop request", what=f"{whom} {moment} step {step}", inject=inject)
