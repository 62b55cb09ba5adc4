import os
import subprocess
import sys

import pytest

from tests.training.mpirun import PATIENCE
from training.runtime import watchdog

_VARIABLE = "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"


@pytest.mark.parametrize(("given", "seconds"), [("30", 30), ("0", 600), ("soon", 600)])
def test_limit_is_that_of_horovod(monkeypatch: pytest.MonkeyPatch, given: str, seconds: int) -> None:
    monkeypatch.setenv(_VARIABLE, given)
    assert watchdog.limit() == seconds


def test_horovod_gets_the_default_where_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_VARIABLE, raising=False)
    assert watchdog.limit() == 600
    assert os.environ[_VARIABLE] == "600"


def hang(program: str, seconds: int) -> subprocess.CompletedProcess[str]:
    program = f"import time\nfrom training.runtime import watchdog\nwatchdog.progress()\n{program}"
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {_VARIABLE: str(seconds)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_a_rank_without_progress_ends_and_prints_where_it_hangs() -> None:
    # A sleep in C, without Python's lock, as in a read that does not return.
    hung = hang("def read():\n    time.sleep(600)\nread()", seconds=1)
    assert hung.returncode == 1
    assert "Timeout (0:00:01)!" in hung.stderr
    assert "in read" in hung.stderr


def test_progress_and_the_end_of_the_run_keep_the_watchdog_quiet() -> None:
    # Each sleep is half of the limit, so that a busy machine may double it.
    program = "for _ in range(3):\n    time.sleep(1.5)\n    watchdog.progress()\nwatchdog.finished()\ntime.sleep(4)"
    assert hang(program, seconds=3).returncode == 0
