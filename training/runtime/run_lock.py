"""One run at a time in an output folder: two would resume from each other's checkpoints, and overwrite them.

The file `.run-lock` names the process that trains there, rank zero, which holds the file's `flock`. The kernel releases
it however the process ends; the servers of Lustre and NFS do some minutes after they lost its machine. That machine
may come back: every few seconds the process reads whether the file is still its own, and ends where it is not.

If the file system has no `flock`, the content decides: its process writes it again every few seconds, and content
that has not changed for a minute is that of a dead process. Nothing compares clocks, which differ and jump.

Every start waits for a while: the processes of its start before may be ending, or in an elastic run, a rank zero that
is another process now. It waits longer where the other run may be the start before of the same job, whose launcher was
lost, and whose watchdog ends it: rank zero is on the same host, which on Kubernetes is the pod, or ranks come and go.
"""

import errno
import fcntl
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from . import elastic, stop_request, torchrun_environment, watchdog
from .distributed import on_rank_zero
from .errors import LOST_FILE_SYSTEM, USER_ERROR, UserError
from .files import open_for_writing, unwritable

_NAME = ".run-lock"

# Errors of a file system without flock, such as Lustre that is mounted without that option.
_NO_FLOCK = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)

# Errors of a client that the server evicted, whose locks are others' now, and of a file that was removed.
_LOST = (*LOST_FILE_SYSTEM, errno.ENOENT)

# The exit code of a process whose lock is lost: its next start takes the lock, or finds out who has it.
_LOST_LOCK = 1

# Between two writes of the content.
_BEAT_SECONDS = 10.0

# A stopped run has 30 seconds to save its state, Kubernetes' default, and is no reason to reject its next start.
_LIVE_SECONDS = 40.0

# Longer than a file system that is slow, but answers.
_DEAD_SECONDS = 60.0

# Lustre evicts a client that does not answer after about 150 s, an NFS server after its lease, often 90 s.
_EVICTION_SECONDS = 240.0

# Between two answers of rank zero to the ranks that wait with it.
_SLICE_SECONDS = 10.0

# In which another process that found the file free at the same moment has written, too.
_SETTLE_SECONDS = 2.0


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Let no other run train in a folder during the block; every rank must call it.

    Raises:
        UserError: Another run trains there; on every rank, after a wait.
    """
    held: list[Lock] = []
    # Horovod: rank zero alone writes into the folder.
    on_rank_zero(lambda: held.append(Lock(output)))
    try:
        # In slices, because this may take longer than the watchdogs of the ranks, and Horovod's, let them wait.
        while not on_rank_zero(lambda: held[0].take(_SLICE_SECONDS)):
            watchdog.progress()
        yield
    finally:
        # Without the other ranks, which may be lost.
        for lock in held:
            lock.release()


class Lock:
    """The lock of a folder, for this process."""

    def __init__(self, output: Path) -> None:
        """Take nothing yet.

        Raises:
            UserError: The file cannot be written.
        """
        self._output, self._path = output, output / _NAME
        self._id, self._host = uuid.uuid4().hex, socket.gethostname()
        self._content = {
            "host": self._host,
            "process": os.getpid(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
            "id": self._id,
        }
        try:
            self._descriptor = self._open()
            self._first = self._read()
        except OSError as error:
            raise unwritable(output, error) from error
        self._began, self._said = time.monotonic(), False
        self._released = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="run-lock", daemon=True)

    def take(self, seconds: float) -> bool:
        """Return whether this process has the lock now, after a wait of these seconds at most.

        Raises:
            UserError: Another process keeps it, or the file cannot be written.
        """
        until = time.monotonic() + seconds
        try:
            while not self._try():
                if time.monotonic() > until:
                    return False
                time.sleep(0.5)
        except OSError as error:
            raise unwritable(self._output, error) from error
        with stop_request.blocked():
            self._beating.start()
        return True

    def release(self) -> None:
        """Let another process take the lock."""
        self._released.set()
        if self._beating.ident is None:
            os.close(self._descriptor)
        else:
            # It closes the file; on a file system that does not answer, later.
            self._beating.join(_BEAT_SECONDS)

    def _open(self) -> int:
        return open_for_writing(self._path, os.O_RDWR)

    def _try(self) -> bool:
        """Return whether the lock is taken."""
        if not self._has_name():
            os.close(self._descriptor)
            self._descriptor = self._open()
        flock, content = _flock(self._descriptor), self._read()
        waited = time.monotonic() - self._began
        if flock:
            self._write()
            return self._has_name()
        is_dead = content == self._first and waited > _DEAD_SECONDS
        if flock is None and (not content or is_dead) and self._write_settles():
            return True
        owner = _described(content)
        if waited > self._limit(content):
            raise UserError(
                f"the output folder is {self._output}, where another run trains: {owner}; wait for its end or "
                "stop it, or give another folder"
            )
        if not self._said:
            why = self._why_longer(content)
            long = f"; for up to {self._limit(content):.0f} s, as {why}" if why else ""
            print(f"waiting for another run in {self._output} to end: {owner}{long}", flush=True)
            self._said = True
        return False

    def _limit(self, content: bytes) -> float:
        """Return how many seconds a start waits for the process that wrote this content."""
        seconds = _EVICTION_SECONDS if content == self._first else _LIVE_SECONDS
        if self._why_longer(content):
            # Without its launcher or its other ranks it makes no progress, so its watchdog ends it within this time.
            seconds = max(seconds, watchdog.limit() + _LIVE_SECONDS)
        return seconds

    def _why_longer(self, content: bytes) -> str:
        """Return why the other run may be the start before of the same job; empty where it is not."""
        if _owner(content).get("host") == self._host:
            return "it is on this host"
        is_elastic = elastic.active() or torchrun_environment.by_torchrun()
        return "rank zero of an elastic run may have been on another host" if is_elastic else ""

    def _write_settles(self) -> bool:
        """Write the content, and return whether no other process that found the file free wrote after this one."""
        self._write()
        time.sleep(_SETTLE_SECONDS)
        return self._is_own()

    def _beat(self) -> None:
        beats = 0
        while not self._released.wait(_BEAT_SECONDS):
            beats += 1
            self._keep(beats)
        # A next run would wait for a while, and take it for dead.
        with suppress(OSError):
            if self._is_own():
                os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def _keep(self, beats: int) -> None:
        """Write the content again; end this process if another one trains in the folder, or may from now on."""
        try:
            if self._is_own():
                self._write(beats)
                return
            # This process was suspended, or its file system did not answer, for longer than a dead one's.
            other = _described(self._read())
        except OSError as error:
            # One that is slow gives no error; one that is full, or of another kind, training itself reports.
            if error.errno in _LOST:
                self._end(f"the lock {self._path} is lost ({error.strerror}): start this run again", _LOST_LOCK)
            return
        self._end(f"another run took over {self._path.parent}: {other}", USER_ERROR)

    @staticmethod
    def _end(reason: str, code: int) -> None:
        print(f"error: {reason}", file=sys.stderr, flush=True)
        # Without cleaning up, which would write into the folder.
        os._exit(code)

    def _is_own(self) -> bool:
        return self._id.encode() in self._read() and self._has_name()

    def _has_name(self) -> bool:
        """Return whether the open file is still the one in the folder: another process may have removed it."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        return False

    def _read(self) -> bytes:
        # Opened each time: NFS asks the server for the present content only then.
        return self._path.read_bytes()

    def _write(self, beats: int = 0) -> None:
        """Write the content at once, of one length, so that a reader never finds half of it."""
        os.pwrite(self._descriptor, json.dumps({**self._content, "beats": beats}).encode().ljust(512), 0)
        # NFS would keep it in this machine for half a minute.
        os.fdatasync(self._descriptor)


def _flock(descriptor: int) -> bool | None:
    """Return whether this process has the lock of a file; None where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_FLOCK:
            return None
        raise
    return True


def _owner(content: bytes) -> dict[str, Any]:
    """Return the content that a process wrote; empty where it has not written yet."""
    try:
        owner = json.loads(content)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _described(content: bytes) -> str:
    owner = _owner(content)
    if not {"process", "host", "since"} <= owner.keys():
        return "a process that has not written its name yet"
    return f"process {owner['process']} on {owner['host']}, since {owner['since']}"
