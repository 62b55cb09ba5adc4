import errno
import fcntl
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

from tests.training.mpirun import PATIENCE, ROOT
from training.runtime import run_lock, watchdog
from training.runtime.errors import UserError
from training.runtime.run_lock import Lock


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make hours of minutes: all times in the same order as in the program."""
    for name, seconds in {"BEAT": 0.1, "SETTLE": 0.3, "LIVE": 1.0, "DEAD": 2.0, "EVICTION": 3.0}.items():
        monkeypatch.setattr(run_lock, f"_{name}_SECONDS", seconds)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each lock another host."""
    numbers = itertools.count()
    monkeypatch.setattr(socket, "gethostname", lambda: f"worker-{next(numbers)}")


def taken(folder: Path) -> Lock:
    """Return a lock of the folder when it is taken."""
    lock = Lock(folder)
    assert lock.take(PATIENCE)
    return lock


def fail_flock(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fail)


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file system without locks."""
    fail_flock(monkeypatch, errno.ENOSYS)


def leave(folder: Path) -> None:
    """Write the content of a process that is dead."""
    owner = {"host": "lost-worker-0", "process": 12, "since": "2026-11-22T10:00:00+00:00", "id": "0", "beats": 3}
    (folder / ".run-lock").write_text(json.dumps(owner))


def test_a_second_run_is_rejected_with_host_process_and_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = taken(tmp_path)
    with pytest.raises(UserError) as caught:
        taken(tmp_path)
    since = json.loads((tmp_path / ".run-lock").read_bytes())["since"]
    assert since.endswith("+00:00")
    owner = f"process {os.getpid()} on worker-0, since {since}"
    assert str(caught.value) == (
        f"the output folder is {tmp_path}, where another run trains: {owner}; wait for its end or stop it, or give "
        "another folder"
    )
    assert capsys.readouterr().out == f"waiting for another run in {tmp_path} to end: {owner}\n"
    first.release()


def test_the_lock_can_be_taken_again_after_its_release(tmp_path: Path) -> None:
    for _ in range(2):
        lock = taken(tmp_path)
        lock.release()
    assert (tmp_path / ".run-lock").read_bytes() == b""


def test_a_start_waits_for_a_run_that_is_ending(tmp_path: Path) -> None:
    first = taken(tmp_path)
    timer = threading.Timer(0.4, first.release)
    timer.start()
    taken(tmp_path).release()
    assert timer.finished.is_set()


def test_a_process_that_does_not_answer_is_waited_for_longer(tmp_path: Path) -> None:
    leave(tmp_path)
    with (tmp_path / ".run-lock").open("rb") as stream:
        # The lock of a machine that is lost: its content does not change until the server releases it.
        fcntl.flock(stream, fcntl.LOCK_EX)
        before = time.monotonic()
        with pytest.raises(UserError, match="process 12 on lost-worker-0, since 2026-11-22T10:00:00"):
            taken(tmp_path)
        assert time.monotonic() - before >= 3
        timer = threading.Timer(1.5, fcntl.flock, (stream, fcntl.LOCK_UN))
        timer.start()
        taken(tmp_path).release()
        timer.join()


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> "Queue[int]":
    """Return the codes with which threads end the process; here they stay where they are."""
    codes: Queue[int] = Queue()

    def end(code: int) -> None:
        codes.put(code)
        threading.Event().wait()

    monkeypatch.setattr(os, "_exit", end)
    return codes


def test_a_run_whose_lock_the_server_gave_to_another_ends(
    tmp_path: Path, ends: "Queue[int]", capsys: pytest.CaptureFixture[str]
) -> None:
    first = taken(tmp_path)
    # What a server of Lustre or NFS does to a client that it lost.
    fcntl.flock(first._descriptor, fcntl.LOCK_UN)
    second = taken(tmp_path)
    assert ends.get(timeout=PATIENCE) == 2
    first.release()
    assert json.loads((tmp_path / ".run-lock").read_bytes())["host"] == "worker-1"
    second.release()
    assert ends.empty()
    assert f"error: another run took over {tmp_path}: process {os.getpid()} on worker-1" in capsys.readouterr().err


@pytest.mark.parametrize(("number", "reason"), [(errno.EIO, "Input/output error"), (errno.ESTALE, "Stale file handle")])
def test_a_run_that_its_server_evicted_ends_and_may_start_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ends: "Queue[int]",
    capsys: pytest.CaptureFixture[str],
    number: int,
    reason: str,
) -> None:
    def fail(_: Lock) -> bytes:
        raise OSError(number, os.strerror(number))

    taken(tmp_path)
    monkeypatch.setattr(Lock, "_read", fail)
    assert ends.get(timeout=PATIENCE) == 1
    lost = f"error: the lock {tmp_path}/.run-lock is lost ({reason}): start this run again\n"
    assert capsys.readouterr().err == lost


def test_a_run_whose_lock_was_removed_ends(
    tmp_path: Path, ends: "Queue[int]", capsys: pytest.CaptureFixture[str]
) -> None:
    taken(tmp_path)
    (tmp_path / ".run-lock").unlink()
    assert ends.get(timeout=PATIENCE) == 1
    assert "/.run-lock is lost (No such file or directory): start this run again" in capsys.readouterr().err


def test_a_start_does_not_take_a_file_that_was_removed(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    (tmp_path / ".run-lock").unlink()
    assert first.take(PATIENCE)
    with pytest.raises(UserError, match="where another run trains: "):
        taken(tmp_path)
    first.release()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.link(path.with_name("mine"), path)])
def test_a_lock_that_another_user_made_of_a_pipe_or_of_my_file_is_rejected(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "mine").write_text("kept")
    make(tmp_path / ".run-lock")
    with pytest.raises(UserError, match=r"\.run-lock has other names, or is not a regular file\); remove it"):
        Lock(tmp_path)
    assert (tmp_path / "mine").read_text() == "kept"


@pytest.mark.parametrize("number", [None, errno.ENOSPC])
def test_a_file_system_that_is_slow_or_full_does_not_end_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: "Queue[int]", number: int | None
) -> None:
    lock, write = taken(tmp_path), Lock._write
    beats: Queue[int] = Queue()

    def slow(lock: Lock, number_of_beat: int = 0) -> None:
        beats.put(number_of_beat)
        if number:
            raise OSError(number, os.strerror(number))
        time.sleep(3 * run_lock._BEAT_SECONDS)
        write(lock, number_of_beat)

    monkeypatch.setattr(Lock, "_write", slow)
    assert {beats.get(timeout=PATIENCE) for _ in range(3)} == {1, 2, 3}
    lock.release()
    assert ends.empty()


def test_a_process_can_start_again_after_a_file_system_that_did_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(monkeypatch)
    first, write = taken(tmp_path), Lock._write
    hangs, answers = threading.Event(), threading.Event()

    def hang(lock: Lock, beats: int = 0) -> None:
        hangs.set()
        answers.wait(PATIENCE)
        write(lock, beats)

    monkeypatch.setattr(Lock, "_write", hang)
    assert hangs.wait(PATIENCE)
    first.release()
    assert first._beating.is_alive()
    answers.set()
    taken(tmp_path).release()


def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all starts be on one host, where a run that makes no progress ends in 4 seconds."""
    monkeypatch.setattr(socket, "gethostname", lambda: "job-worker-0")
    monkeypatch.setattr(watchdog, "limit", lambda: 4)


def test_a_restart_on_the_same_host_waits_until_the_watchdog_has_ended_an_orphan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    near(monkeypatch)
    first = taken(tmp_path)
    # Longer than another host's start waits for a process that writes the file.
    timer = threading.Timer(2.5, first.release)
    timer.start()
    taken(tmp_path).release()
    assert timer.finished.is_set()
    out = capsys.readouterr().out
    assert out.startswith(
        f"waiting for another run in {tmp_path} to end: process {os.getpid()} on job-worker-0, since "
    )
    assert out.endswith("; for up to 5 s, as it is on this host\n")


@pytest.mark.parametrize("variable", ["HOROVOD_ELASTIC", "TORCHELASTIC_RUN_ID"])
def test_an_elastic_start_waits_until_the_watchdog_has_ended_rank_zero_on_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str
) -> None:
    monkeypatch.setattr(watchdog, "limit", lambda: 4)
    monkeypatch.setenv(variable, "1")
    first = taken(tmp_path)
    timer = threading.Timer(2.5, first.release)
    timer.start()
    taken(tmp_path).release()
    assert timer.finished.is_set()
    why = "rank zero of an elastic run may have been on another host"
    assert capsys.readouterr().out.endswith(f"; for up to 5 s, as {why}\n")


def test_a_restart_on_the_same_host_waits_no_longer_than_the_watchdog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near(monkeypatch)
    first = taken(tmp_path)
    before = time.monotonic()
    with pytest.raises(UserError, match=f"process {os.getpid()} on job-worker-0, since "):
        taken(tmp_path)
    assert time.monotonic() - before >= 5
    first.release()


def test_a_start_that_waits_returns_in_time_for_the_watchdogs_of_the_ranks(tmp_path: Path) -> None:
    first, second = taken(tmp_path), Lock(tmp_path)
    assert not second.take(0.1)
    first.release()
    assert second.take(PATIENCE)
    second.release()


def test_a_killed_run_does_not_keep_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = (
        "import sys, os, signal\nfrom pathlib import Path\nfrom training.runtime.run_lock import Lock\n"
        "Lock(Path(sys.argv[1])).take(9)\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, timeout=PATIENCE)
    assert done.returncode == -signal.SIGKILL
    assert json.loads((tmp_path / ".run-lock").read_bytes())["process"] > 0
    taken(tmp_path).release()
    # Not even for the first of its looks.
    assert capsys.readouterr().out == ""


def outcomes(*actions: Callable[[], Lock]) -> list[Lock | UserError]:
    """Run actions at the same time."""

    def outcome(future: "Future[Lock]") -> Lock | UserError:
        try:
            return future.result(PATIENCE)
        except UserError as error:
            return error

    with ThreadPoolExecutor(len(actions)) as pool:
        return [outcome(future) for future in [pool.submit(action) for action in actions]]


def check_that_one_wins(folder: Path) -> None:
    (winner,) = [each for each in outcomes(*[lambda: taken(folder)] * 3) if isinstance(each, Lock)]
    winner.release()


def test_of_runs_started_at_once_one_wins(tmp_path: Path) -> None:
    check_that_one_wins(tmp_path)


@pytest.mark.usefixtures("no_flock")
class TestWithoutFlock:
    def test_a_second_run_is_rejected(self, tmp_path: Path) -> None:
        first = taken(tmp_path)
        with pytest.raises(UserError, match=f"where another run trains: process {os.getpid()} on "):
            taken(tmp_path)
        first.release()
        taken(tmp_path).release()

    def test_a_dead_run_keeps_it_for_a_while_only(self, tmp_path: Path) -> None:
        leave(tmp_path)
        before = time.monotonic()
        lock = taken(tmp_path)
        assert time.monotonic() - before >= 2
        assert json.loads((tmp_path / ".run-lock").read_bytes())["process"] == os.getpid()
        lock.release()

    @pytest.mark.parametrize("dead", [False, True])
    def test_of_runs_that_find_it_free_at_once_one_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead: bool
    ) -> None:
        write, all_found_it_free = Lock._write, threading.Barrier(3)

        def write_together(lock: Lock, beats: int = 0) -> None:
            if beats == 0:
                all_found_it_free.wait(PATIENCE)
            write(lock, beats)

        monkeypatch.setattr(Lock, "_write", write_together)
        if dead:
            leave(tmp_path)
        check_that_one_wins(tmp_path)

    def test_of_two_runs_that_find_it_free_the_later_to_write_wins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_lock, "_SETTLE_SECONDS", 1.0)
        write, both_found_it_free, has_written = Lock._write, threading.Barrier(2), threading.Event()
        first, second = Lock(tmp_path), Lock(tmp_path)

        def write_in_turn(lock: Lock, beats: int = 0) -> None:
            if beats == 0:
                both_found_it_free.wait(PATIENCE)
                if lock is second:
                    has_written.wait(PATIENCE)
                    # Without its wait the first would have read its own content by now.
                    time.sleep(0.1)
            write(lock, beats)
            has_written.set()

        def take(lock: Lock) -> Lock:
            assert lock.take(PATIENCE)
            return lock

        monkeypatch.setattr(Lock, "_write", write_in_turn)
        lost, winner = outcomes(lambda: take(first), lambda: take(second))
        assert isinstance(lost, UserError)
        assert winner is second
        second.release()

    def test_a_run_that_lost_it_while_suspended_ends(
        self, tmp_path: Path, ends: "Queue[int]", capsys: pytest.CaptureFixture[str]
    ) -> None:
        lock = taken(tmp_path)
        leave(tmp_path)
        assert ends.get(timeout=PATIENCE) == 2
        lock.release()
        assert "lost-worker-0" in (tmp_path / ".run-lock").read_text()
        assert f"error: another run took over {tmp_path}: process 12 on lost-worker-0" in capsys.readouterr().err


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    fail_flock(monkeypatch, number)
    taken(tmp_path).release()


def test_another_error_of_the_file_system_ends_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_flock(monkeypatch, errno.EIO)
    with pytest.raises(UserError, match=r"cannot write \(Input/output error\)"):
        taken(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write \(Not a directory\)"):
        taken(tmp_path / "file")


def test_the_thread_leaves_stop_signals_to_the_main_thread(tmp_path: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    lock = taken(tmp_path)
    (status,) = [
        (task / "status").read_text()
        for task in Path("/proc/self/task").iterdir()
        if int(task.name) == lock._beating.native_id
    ]
    (mask,) = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigBlk")]
    lock.release()
    assert all(mask >> (number - 1) & 1 for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
