"""The transfer of files: each is copied or read, verified, and logged, several at the same time.

A file that differs from its object does not stop the others; an error that concerns every file stops the run.
"""

import errno
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from botocore.exceptions import BotoCoreError, ClientError, FlexibleChecksumError

from training.runtime.errors import UserError
from training.runtime.files import create, sync
from training.staging import checksums, s3_source
from training.staging.s3_source import Item, Source
from training.staging.staging_progress import SIZE_ONLY, Progress
from training.staging.verified_files import VerifiedFiles

_CHUNK = 4 * 2**20
_ATTEMPTS = 4

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_NO_WRITING = (errno.EACCES, errno.EPERM, errno.EROFS)

# The time that workers have after a stop, in case they wait for S3 or the file system.
_STOP_SECONDS = 5.0


class MismatchError(Exception):
    """One file differs from its object in S3; the others continue."""


class StoppedError(Exception):
    """The run stops."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The source and the target of the files, and the objects that count them."""

    client: Any
    source: Source
    target: Path
    verified: VerifiedFiles
    progress: Progress
    stop: threading.Event

    def where(self, item: Item) -> str:
        """Return the object's address."""
        return f"s3://{self.source.bucket}/{item.key}"


#: Copies or reads one file, and returns the name of the checksum that it was verified by.
Action = Callable[[Transfer, Item], str]


@dataclass(slots=True)
class Outcome:
    """The result of a run."""

    mismatches: list[str] = field(default_factory=list)
    """The files that differ from S3, each with the reason."""
    failure: Exception | None = None
    """The error that stopped the run."""


# ------------------------------------------------------------------------------------------------------------ copy


def copy(transfer: Transfer, item: Item) -> str:
    """Download a file unless it is already verified; return the name of its checksum."""
    path = transfer.target / item.path
    found = _stat(path)
    if found and (verified := transfer.verified.find(item, found)):
        transfer.progress.found(item)
        return verified.verified_by
    make_folder(transfer.target, path.parent)
    # In the same folder: a rename is only atomic within one file system.
    temporary = path.with_name(f".{path.name}.partial")
    try:
        verified_by = _download(transfer, item, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
    transfer.verified.add(item, path.stat(), verified_by)
    return verified_by


def _download(transfer: Transfer, item: Item, temporary: Path) -> str:
    """Retry if the connection broke."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(*s3_source.TRANSIENT):
            return _download_once(transfer, item, temporary)
    return _download_once(transfer, item, temporary)


def _download_once(transfer: Transfer, item: Item, temporary: Path) -> str:
    response = _unchanged(
        lambda: transfer.client.get_object(
            Bucket=transfer.source.bucket, Key=item.key, IfMatch=item.etag, ChecksumMode="ENABLED"
        )
    )
    with closing(response["Body"]) as body, create(temporary) as file:
        os.fchmod(file.fileno(), 0o644)
        verified_by = _verify(transfer, item, response, body.readinto, file)
        file.flush()
        os.fsync(file.fileno())
    return verified_by


# --------------------------------------------------------------------------------------------------------- preload


def preload(transfer: Transfer, item: Item) -> str:
    """Read a file to its end, so that Lustre fetches it from S3; return the name of its checksum."""
    path = transfer.target / item.path
    found = _stat(path)
    if found is None:
        raise MismatchError(
            "is in S3 but not here; check that a data repository links the file system to it, and its import"
        )
    if found.st_size != item.size:
        raise MismatchError(f"has {found.st_size:,} bytes here, but {item.size:,} in S3")
    verified = transfer.verified.find(item, found)
    if verified and is_loaded(found):
        transfer.progress.found(item)
        return verified.verified_by
    response = _unchanged(
        lambda: transfer.client.head_object(
            Bucket=transfer.source.bucket, Key=item.key, IfMatch=item.etag, ChecksumMode="ENABLED"
        )
    )
    with path.open("rb", buffering=0) as file:
        verified_by = _verify(transfer, item, response, file.readinto, None)
    transfer.verified.add(item, path.stat(), verified_by)
    return verified_by


def is_loaded(found: os.stat_result) -> bool:
    """Return whether the content is on this file system: Lustre counts at most one block for a file that is not."""
    return found.st_blocks > 1


# ------------------------------------------------------------------------------------------------------------ both


def _verify(
    transfer: Transfer, item: Item, response: Any, read: Callable[[memoryview], int | None], file: BinaryIO | None
) -> str:
    """Compute the checksum of a content, and write it to a file if there is one."""
    wanted = checksums.expected(response)
    verifier = wanted and checksums.Verifier(wanted, _part_sizes(transfer, item, wanted))
    count = 0
    try:
        for chunk in _chunks(read, item.size):
            if transfer.stop.is_set():
                raise StoppedError
            count += len(chunk)
            transfer.progress.moved(len(chunk))
            if verifier:
                verifier.update(chunk)
            if file:
                file.write(chunk)
        if count != item.size:
            raise MismatchError(f"came with {count:,} bytes, but S3 lists {item.size:,}")
        if wanted and verifier and not verifier.matches():
            raise MismatchError(f"does not match its {wanted.name} in S3")
    except Exception:
        transfer.progress.moved(-count)
        raise
    return wanted.name if wanted else SIZE_ONLY


def _chunks(read: Callable[[memoryview], int | None], size: int) -> Iterator[memoryview]:
    """Read to the end, and one byte more than expected; all chunks share one buffer."""
    buffer = memoryview(bytearray(min(_CHUNK, size + 1)))
    try:
        while length := read(buffer):
            yield buffer[:length]
    except FlexibleChecksumError as error:
        # The S3 client compares checksums of whole contents too.
        raise MismatchError("does not match its checksum in S3") from error


def _part_sizes(transfer: Transfer, item: Item, wanted: checksums.Expected) -> list[int]:
    def size_of(number: int) -> int:
        response = transfer.client.head_object(Bucket=transfer.source.bucket, Key=item.key, PartNumber=number)
        return int(response["ContentLength"])

    return checksums.part_sizes(size_of, wanted.parts, item.size) if wanted.parts else []


def _unchanged(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] in (404, 412):
            raise MismatchError("was changed or deleted in S3 since it was listed; start again") from error
        raise


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def make_folder(target: Path, folder: Path) -> None:
    """Create a folder and its parents below the target, readable for all users whatever the umask is."""
    for path in [*reversed(folder.relative_to(target).parents), folder.relative_to(target)]:
        try:
            (target / path).mkdir()
        except FileExistsError:
            continue
        (target / path).chmod(0o755)


# ------------------------------------------------------------------------------------------------------- all files


def run(transfer: Transfer, items: Sequence[Item], action: Action, workers: int, seconds: float) -> Outcome:
    """Apply the action to every item, and print the progress at an interval in seconds."""
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    outcome = Outcome()
    # Daemons: a worker that a dead file system blocks must not keep the pod.
    threads = [
        threading.Thread(target=_work, args=(transfer, waiting, action, outcome), daemon=True) for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    _wait(transfer, threads, seconds)
    return outcome


def _wait(transfer: Transfer, threads: Sequence[threading.Thread], seconds: float) -> None:
    next_line = time.monotonic() + seconds
    give_up = None
    while any(thread.is_alive() for thread in threads):
        # Short, because Python handles signals between two such calls.
        next(thread for thread in threads if thread.is_alive()).join(timeout=0.1)
        if time.monotonic() >= next_line:
            print(transfer.progress.line(), flush=True)
            next_line += seconds
        if transfer.stop.is_set():
            give_up = give_up or time.monotonic() + _STOP_SECONDS
            if time.monotonic() > give_up:
                return


def _work(transfer: Transfer, waiting: "queue.SimpleQueue[Item]", action: Action, outcome: Outcome) -> None:
    while not transfer.stop.is_set():
        try:
            item = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            transfer.progress.finished(_do(transfer, item, action))
        except MismatchError as error:
            outcome.mismatches.append(f"{item.path} {error}")
            print(f"mismatch: {item.path} {error}", flush=True)
        except StoppedError:
            return
        except Exception as error:
            outcome.failure = outcome.failure or error
            transfer.stop.set()


def _do(transfer: Transfer, item: Item, action: Action) -> str:
    try:
        with s3_source.user_errors(transfer.where(item)):
            return action(transfer, item)
    except (BotoCoreError, ClientError):
        raise
    except OSError as error:
        raise _file_system_error(error, transfer, item) from error


def _file_system_error(error: OSError, transfer: Transfer, item: Item) -> Exception:
    path = transfer.target / item.path
    if error.errno in _NO_SPACE:
        return UserError(
            f"'--target' is {transfer.target}, where no space is left for {item.path} ({item.size / 1e9:,.1f} GB); "
            "free some space, then start again: the run resumes"
        )
    if error.errno in _NO_WRITING:
        return UserError(
            f"'--target' is {transfer.target}, where user {os.getuid()} may not use {path} ({error.strerror}); "
            "make this user its owner, or give another folder"
        )
    return MismatchError(f"cannot be used here: {error.strerror}")
