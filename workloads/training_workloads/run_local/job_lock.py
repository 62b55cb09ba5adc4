"""One run of a job at a time: two would write their checkpoints into one folder."""

import contextlib
import errno
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

from training_workloads.jobs.volumes import RUNS_DIRECTORY
from training_workloads.validation import InputError, Problem

__all__ = ["only_run"]


@contextlib.contextmanager
def only_run(job: str, volumes: Path) -> Iterator[None]:
    """Hold the lock of a job while it runs here; the kernel releases it with this process, however it ends.

    Args:
        job: Name of the job.
        volumes: The folder in place of the shared file system.

    Raises:
        InputError: The job runs already, or nothing can be written into the folder.
    """
    path = volumes / RUNS_DIRECTORY / f".{re.sub(r'[^A-Za-z0-9.-]', '_', job)}.lock"
    with _opened(path, volumes) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            process = os.pread(file, 20, 0).decode()
            allowed = f"this job runs already (process {process}), and both would write into {path.parent}"
            fix = "wait for its end, or give another folder with '--volumes'"
            raise InputError(Problem(path=("file",), given=job, allowed=allowed, fix=fix)) from error
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        yield


@contextlib.contextmanager
def _opened(path: Path, volumes: Path) -> Iterator[int]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        # A full disk is no mistake in a value.
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        allowed = f"{path.parent} cannot be written ({error.strerror})"
        fix = "give a folder that you may write to"
        raise InputError(Problem(path=("volumes",), given=str(volumes), allowed=allowed, fix=fix)) from error
    try:
        yield file
    finally:
        os.close(file)
