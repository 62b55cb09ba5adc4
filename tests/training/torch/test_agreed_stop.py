import os
import signal

from training.runtime.every import Every
from training.torch.agreed_stop import AgreedStop


def test_a_stop_request_ends_the_run_after_a_step_that_all_ranks_agree_on() -> None:
    stop = AgreedStop(Every(3, "steps"))
    assert [stop.after_step(step) for step in (1, 2, 3)] == [(False, False), (False, False), (False, True)]
    os.kill(os.getpid(), signal.SIGUSR1)
    stops = [stop.after_step(step)[0] for step in range(4, 5000)]
    assert stops.count(True) >= 1
