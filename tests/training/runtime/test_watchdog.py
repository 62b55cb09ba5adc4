import os
import subprocess
import sys

import pytest

from training.runtime import watchdog

_VARIABLE = "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"


@pytest.mark.parametrize(("given", "seconds"), [("30", 30), ("0", 600), ("soon", 600)])
def test_the_limit_is_horovod_s(monkeypatch: pytest.MonkeyPatch, given: str, seconds: int) -> None:
    monkeypatch.setenv(_VARIABLE, given)
    assert watchdog.limit() == seconds


def test_horovod_gets_the_default_where_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(_VARIABLE, raising=False)
    assert watchdog.limit() == 600
    assert os.environ[_VARIABLE] == "600"


def hang(program: str) -> subprocess.CompletedProcess[str]:
    program = f"import time\nfrom training.runtime import watchdog\nwatchdog.progress()\n{program}"
    environment = os.environ | {_VARIABLE: "1"}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=30)


def test_a_rank_without_progress_ends_and_says_where_it_was() -> None:
    # A sleep in C, with Python's lock held by nobody, as in a read that does not return.
    hung = hang("def read():\n    time.sleep(20)\nread()")
    assert hung.returncode == 1
    assert "Timeout (0:00:01)!" in hung.stderr
    assert "in read" in hung.stderr


def test_progress_and_the_end_of_the_run_call_the_watch_off() -> None:
    program = "for _ in range(3):\n    time.sleep(0.6)\n    watchdog.progress()\nwatchdog.finished()\ntime.sleep(1.5)"
    assert hang(program).returncode == 0
