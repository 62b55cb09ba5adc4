"""Stop requests, as from Spot, an eviction or `kubectl delete`: nothing at all may be lost."""

import signal

from tests.faults.life import Fault, Life, expect
from training.runtime.stop_request import STOPPED


def request(rank: int | None, step: int) -> Fault:
    """Send a stop request to a rank, or to mpirun where no rank is given."""

    def inject(life: Life) -> None:
        with life.run() as run:
            process, number = (run.launcher, signal.SIGUSR1) if rank is None else (run.rank(rank), signal.SIGTERM)
            run.wait_for_step(step)
            process.send_signal(number)
            code = run.end()
            expect(code == STOPPED, f"it ended with code {code}, not {STOPPED}")
        last = max(run.losses)
        expect(life.saved == last, f"it stopped after step {last}, but the newest checkpoint is of step {life.saved}")
        life.promised = last

    whom = "SIGUSR1 to mpirun" if rank is None else f"SIGTERM to rank {rank}"
    return Fault(kind="stop request", what=f"{whom} after step {step}", inject=inject)
