"""One file at a time: fetched or read, verified, and noted."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from botocore.exceptions import ClientError, FlexibleChecksumError

from training.runtime.files import sync
from training.staging import checksums, s3
from training.staging.progress import SIZE_ONLY, Progress
from training.staging.records import Records
from training.staging.source import Item, Source

_CHUNK = 4 * 2**20
_ATTEMPTS = 4


class BadFileError(Exception):
    """One file is not what S3 holds; the others go on."""


class StoppedError(Exception):
    """The program was told to stop."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where files come from and go to, and what keeps count of them."""

    client: Any
    source: Source
    target: Path
    records: Records
    progress: Progress
    stop: threading.Event

    def where(self, item: Item) -> str:
        """The object's address."""
        return f"s3://{self.source.bucket}/{item.key}"


# ------------------------------------------------------------------------------------------------------------ copy


def copy(stage: Stage, item: Item) -> str:
    """Downloads a file unless it is here already, and returns what showed that it is right."""
    path = stage.target / item.path
    found = _stat(path)
    if found and (record := stage.records.find(item, found)):
        stage.progress.found(item)
        return record.verified_by
    make_folder(stage.target, path.parent)
    # In the same folder, since a rename is atomic within one file system only.
    temporary = path.with_name(f".{path.name}.partial")
    try:
        verified_by = _download(stage, item, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
    stage.records.add(item, path.stat(), verified_by)
    return verified_by


def _download(stage: Stage, item: Item, temporary: Path) -> str:
    """Tries again where the connection did not hold for the length of the file."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(*s3.TRANSIENT):
            return _download_once(stage, item, temporary)
    return _download_once(stage, item, temporary)


def _download_once(stage: Stage, item: Item, temporary: Path) -> str:
    response = _unchanged(
        item,
        lambda: stage.client.get_object(
            Bucket=stage.source.bucket, Key=item.key, IfMatch=item.etag, ChecksumMode="ENABLED"
        ),
    )
    with closing(response["Body"]) as body, temporary.open("wb") as file:
        os.fchmod(file.fileno(), 0o644)
        verified_by = _verify(stage, item, response, body.readinto, file)
        file.flush()
        os.fsync(file.fileno())
    return verified_by


# --------------------------------------------------------------------------------------------------------- preload


def preload(stage: Stage, item: Item) -> str:
    """Reads a file to its end, so that Lustre fetches it from S3, and returns what showed that it is right."""
    path = stage.target / item.path
    found = _stat(path)
    if found is None:
        raise BadFileError("is in S3 but not here; is the file system linked to this prefix, and was it imported?")
    if found.st_size != item.size:
        raise BadFileError(f"has {found.st_size:,} bytes here, but {item.size:,} in S3")
    record = stage.records.find(item, found)
    if record and is_loaded(found):
        stage.progress.found(item)
        return record.verified_by
    response = _unchanged(
        item,
        lambda: stage.client.head_object(
            Bucket=stage.source.bucket, Key=item.key, IfMatch=item.etag, ChecksumMode="ENABLED"
        ),
    )
    with path.open("rb", buffering=0) as file:
        verified_by = _verify(stage, item, response, file.readinto, None)
    stage.records.add(item, path.stat(), verified_by)
    return verified_by


def is_loaded(found: os.stat_result) -> bool:
    """Whether the content is on this file system: Lustre counts one block at most for a file that is only in S3."""
    return found.st_blocks > 1


# ------------------------------------------------------------------------------------------------------------ both


def _verify(
    stage: Stage, item: Item, response: Any, read: Callable[[memoryview], int | None], file: BinaryIO | None
) -> str:
    """Moves the content through the checksum, and into a file if there is one."""
    wanted = checksums.expected(response)
    verifier = wanted and checksums.Verifier(wanted, _part_sizes(stage, item, wanted))
    count = 0
    try:
        for chunk in _chunks(read, item.size):
            if stage.stop.is_set():
                raise StoppedError
            count += len(chunk)
            stage.progress.moved(len(chunk))
            if verifier:
                verifier.update(chunk)
            if file:
                file.write(chunk)
        if count != item.size:
            raise BadFileError(f"came with {count:,} bytes, but S3 lists {item.size:,}")
        if verifier and not verifier.matches():
            raise BadFileError(f"does not match its {wanted.name} in S3")
    except Exception:
        stage.progress.moved(-count)
        raise
    return wanted.name if wanted else SIZE_ONLY


def _chunks(read: Callable[[memoryview], int | None], size: int) -> Iterator[memoryview]:
    """Reads to the end, and a byte further than expected; every chunk lies where the one before it lay."""
    buffer = memoryview(bytearray(min(_CHUNK, size + 1)))
    try:
        while length := read(buffer):
            yield buffer[:length]
    except FlexibleChecksumError as error:
        # The client of S3 checks too, where the checksum is that of the whole content.
        raise BadFileError("does not match its checksum in S3") from error


def _part_sizes(stage: Stage, item: Item, wanted: checksums.Expected) -> list[int]:
    def size_of(number: int) -> int:
        response = stage.client.head_object(Bucket=stage.source.bucket, Key=item.key, PartNumber=number)
        return int(response["ContentLength"])

    return checksums.part_sizes(size_of, wanted.parts, item.size) if wanted.parts else []


def _unchanged(item: Item, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] in (404, 412):
            raise BadFileError("was changed or removed in S3 since it was listed; start again") from error
        raise


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def make_folder(target: Path, folder: Path) -> None:
    """Makes a folder and those above it, down from the target, for all to read whatever the umask is."""
    for path in [*reversed(folder.relative_to(target).parents), folder.relative_to(target)]:
        try:
            (target / path).mkdir()
        except FileExistsError:
            continue
        (target / path).chmod(0o755)
