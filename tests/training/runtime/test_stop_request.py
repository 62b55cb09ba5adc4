import os
import signal
from collections.abc import Iterator

import pytest

from training.runtime.stop_request import STOPPED, StopRequest


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    numbers = (signal.SIGTERM, signal.SIGUSR1)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_is_noted_and_does_not_end_the_process(number: signal.Signals) -> None:
    stop = StopRequest()
    assert not stop.received
    os.kill(os.getpid(), number)
    assert stop.received


def test_exit_code_is_that_of_a_temporary_failure() -> None:
    assert STOPPED == 75
