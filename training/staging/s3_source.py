"""The source in S3: its client and errors, the objects below a prefix, and one pod's share of them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore import exceptions
from botocore.config import Config

from training.runtime.errors import UserError

#: The folder in the target with the logs of verified files. A linked file system exports it to S3 too.
STATE_FOLDER = ".staged"

#: Errors that a retry can fix: the connection broke, or S3 did not answer in time.
TRANSIENT = (exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.IncompleteReadError)

_NO_CREDENTIALS = (
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.CredentialRetrievalError,
    exceptions.MetadataRetrievalError,
)
_DENIED = ("AccessDenied", "403", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken")


# ---------------------------------------------------------------------------------------------------------- client


def make_client(connections: int) -> Any:
    """Return a client for this number of threads."""
    retries = {"mode": "standard", "max_attempts": 8}
    return boto3.Session().client("s3", config=Config(max_pool_connections=connections, retries=retries))


@contextmanager
def user_errors(where: str) -> Iterator[None]:
    """Turn the errors of S3 that a user can fix into `UserError`s.

    Args:
        where: The object or the folder of the request, as s3://….
    """
    try:
        yield
    except _NO_CREDENTIALS as error:
        raise UserError(
            f"there are no AWS credentials to read {where} with ({error}); run the pod under a service account that "
            "has a Pod Identity association with a role that may read the bucket"
        ) from error
    except exceptions.ClientError as error:
        raise UserError(_sentence(where, error)) from error
    except TRANSIENT as error:
        raise UserError(
            f"S3 cannot be reached for {where}: {error}; check the network, then start again: the run resumes"
        ) from error


def _sentence(where: str, error: exceptions.ClientError) -> str:
    code, message = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
    if code == "NoSuchBucket":
        return f"'--source' is {where}, but there is no such bucket; give one that exists"
    if code in _DENIED:
        return (
            f"S3 denies {error.operation_name} for {where} ({code}); allow the role of the pod's service account "
            "s3:ListBucket on the bucket and s3:GetObject on its objects, and kms:Decrypt if they are encrypted"
        )
    return f"S3 answers {error.operation_name} for {where} with {code}: {message}; fix that and start again"


# --------------------------------------------------------------------------------------------------------- objects


@dataclass(frozen=True, slots=True)
class Source:
    """A folder in a bucket."""

    bucket: str
    prefix: str
    """Ends with '/', or empty for the whole bucket."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class Item:
    """One object, and its file."""

    key: str
    path: str
    """The file's path below the target."""
    size: int
    """Bytes."""
    etag: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects below the prefix, in the order of their keys' bytes."""

    items: Sequence[Item]
    folders: Sequence[str]
    """Empty objects whose keys end with '/': the console creates them for empty folders."""


def parse(url: str) -> Source:
    """Return the source of s3://bucket/prefix."""
    found = re.fullmatch(r"s3://([^/]+)(?:/(.*))?", url)
    if not found:
        raise UserError(f"'--source' is {url}; give s3://bucket/prefix")
    prefix = (found[2] or "").rstrip("/")
    return Source(found[1], f"{prefix}/" if prefix else "")


def listing(client: Any, source: Source) -> Listing:
    """List the source.

    Raises:
        UserError: There is no object, or a key cannot be a file below the target.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=source.bucket, Prefix=source.prefix)
    items, folders = [], []
    for entry in (entry for page in pages for entry in page.get("Contents", [])):
        path = entry["Key"].removeprefix(source.prefix)
        if path.startswith(f"{STATE_FOLDER}/") or not path:
            continue
        _check_path(entry["Key"], path.removesuffix("/"))
        if path.endswith("/"):
            folders.append(path.removesuffix("/"))
        else:
            items.append(Item(entry["Key"], path, entry["Size"], entry["ETag"]))
    if not items:
        raise UserError(f"'--source' is {source}, which has no files; give a folder with files")
    _check_files_are_no_folders(source, items, folders)
    return Listing(items, folders)


def _check_path(key: str, path: str) -> None:
    """Reject a key whose file would be outside the target, or be another key's file."""
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise UserError(
            f"the key {key!r} cannot be a file below '--target': it has an empty part, '.' or '..'; rename the object"
        )


def _check_files_are_no_folders(source: Source, items: Sequence[Item], folders: Sequence[str]) -> None:
    needed = {parent for item in items for parent in _parents(item.path)} | set(folders)
    both = next((item.key for item in items if item.path in needed), None)
    if both is not None:
        raise UserError(f"{both!r} in s3://{source.bucket} is an object and a folder of others; rename one of the two")


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


@dataclass(frozen=True, slots=True)
class Share:
    """One pod's part of the files."""

    index: int
    count: int

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return every `count`-th item: the shares are disjoint and cover all items."""
        return items[self.index :: self.count]


def share(shards: int, environment: Mapping[str, str] = os.environ) -> Share:
    """Return this pod's share: Kubernetes sets JOB_COMPLETION_INDEX in the pods of an Indexed Job."""
    text = environment.get("JOB_COMPLETION_INDEX", "0" if shards == 1 else "")
    if not re.fullmatch(r"[0-9]+", text):
        raise UserError(
            f"'--shards' is {shards}, but JOB_COMPLETION_INDEX is {text!r}; run an Indexed Job, or give --shards 1"
        )
    if int(text) >= shards:
        raise UserError(
            f"JOB_COMPLETION_INDEX is {text}, but '--shards' is {shards}; give the Job's number of completions"
        )
    return Share(int(text), shards)
