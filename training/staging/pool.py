"""All files at once, as far as there are workers: a bad file is named, what stops every file stops the run."""

import errno
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from botocore.exceptions import BotoCoreError, ClientError

from training.runtime.errors import UserError
from training.staging.s3 import in_the_users_words
from training.staging.source import Item
from training.staging.stage import BadFileError, Stage, StoppedError

Action = Callable[[Stage, Item], str]

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_WRITING = (errno.EACCES, errno.EPERM, errno.EROFS)

# How long workers may take to notice that they shall stop, while they wait for S3 or the file system.
_STOP_SECONDS = 5.0


@dataclass(slots=True)
class Outcome:
    """What became of the files."""

    bad: list[str] = field(default_factory=list)
    """The files that are not what S3 holds, each with what is wrong."""
    failure: Exception | None = None
    """What stopped the run."""


def run(stage: Stage, items: Sequence[Item], action: Action, workers: int, seconds: float) -> Outcome:
    """Does `action` to every item, with a line about the progress every so many seconds."""
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    outcome = Outcome()
    # Daemons: a worker that hangs in a dead file system must not keep the pod.
    threads = [
        threading.Thread(target=_work, args=(stage, waiting, action, outcome), daemon=True) for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    _wait(stage, threads, seconds)
    return outcome


def _wait(stage: Stage, threads: Sequence[threading.Thread], seconds: float) -> None:
    next_line = time.monotonic() + seconds
    give_up = None
    while any(thread.is_alive() for thread in threads):
        # Short, because Python handles signals between two such calls.
        next(thread for thread in threads if thread.is_alive()).join(timeout=0.1)
        if time.monotonic() >= next_line:
            print(stage.progress.line(), flush=True)
            next_line += seconds
        if stage.stop.is_set():
            give_up = give_up or time.monotonic() + _STOP_SECONDS
            if time.monotonic() > give_up:
                return


def _work(stage: Stage, waiting: "queue.SimpleQueue[Item]", action: Action, outcome: Outcome) -> None:
    while not stage.stop.is_set():
        try:
            item = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            stage.progress.finished(_do(stage, item, action))
        except BadFileError as error:
            outcome.bad.append(f"{item.path} {error}")
            print(f"bad file: {item.path} {error}", flush=True)
        except StoppedError:
            return
        except Exception as error:
            outcome.failure = outcome.failure or error
            stage.stop.set()


def _do(stage: Stage, item: Item, action: Action) -> str:
    try:
        with in_the_users_words(stage.where(item)):
            return action(stage, item)
    except (BotoCoreError, ClientError):
        raise
    except OSError as error:
        raise _of_the_file_system(error, stage, item) from error


def _of_the_file_system(error: OSError, stage: Stage, item: Item) -> Exception:
    path = stage.target / item.path
    if error.errno in _NO_SPACE:
        return UserError(
            f"'--target' is {stage.target}, where no space is left for {item.path} ({item.size / 1e9:,.1f} GB); "
            "make room, then start again: it goes on where it stopped"
        )
    if error.errno in _NO_WRITING:
        return UserError(
            f"user {os.getuid()} may not use {path} ({error.strerror}); give it the folder, or another '--target'"
        )
    return BadFileError(f"cannot be used here: {error.strerror}")
