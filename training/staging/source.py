"""What is to be staged: the objects under a prefix in S3, and one pod's share of them."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training.runtime.errors import UserError

#: The folder in the target where this program keeps its records. A linked file system exports it to S3 too.
RECORDS = ".staged"


@dataclass(frozen=True, slots=True)
class Source:
    """A folder in a bucket."""

    bucket: str
    prefix: str
    """With a '/' at its end, or empty for the whole bucket."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class Item:
    """One object, and the file that it becomes."""

    key: str
    path: str
    """Below the target."""
    size: int
    """Bytes."""
    etag: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything under the prefix, in the order of S3, which is that of the keys' bytes."""

    items: Sequence[Item]
    folders: Sequence[str]
    """What the console makes for an empty folder: objects without content whose keys end with '/'."""


def parse(url: str) -> Source:
    """Takes s3://bucket/prefix apart."""
    found = re.fullmatch(r"s3://([^/]+)(?:/(.*))?", url)
    if not found:
        raise UserError(f"'--source' is {url}; give s3://bucket/prefix")
    prefix = (found[2] or "").rstrip("/")
    return Source(found[1], f"{prefix}/" if prefix else "")


def listing(client: Any, source: Source) -> Listing:
    """Lists the source.

    Raises:
        UserError: There is nothing, or there are keys that cannot be files below the target.
    """
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=source.bucket, Prefix=source.prefix)
    items, folders = [], []
    for entry in (entry for page in pages for entry in page.get("Contents", [])):
        path = entry["Key"].removeprefix(source.prefix)
        if path.startswith(f"{RECORDS}/") or not path:
            continue
        _check_path(entry["Key"], path.removesuffix("/"))
        if path.endswith("/"):
            folders.append(path.removesuffix("/"))
        else:
            items.append(Item(entry["Key"], path, entry["Size"], entry["ETag"]))
    if not items:
        raise UserError(f"there is no file under {source}; give a '--source' that holds some")
    _check_files_are_no_folders(source, items, folders)
    return Listing(items, folders)


def _check_path(key: str, path: str) -> None:
    """Refuses what would leave the target, or fall together with another key's file."""
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
    """One pod's part of the work."""

    index: int
    count: int

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Takes every `count`-th item: the shares are disjoint and cover everything."""
        return items[self.index :: self.count]


def share(shards: int, environment: Mapping[str, str] = os.environ) -> Share:
    """Finds this pod's share: Kubernetes numbers the pods of an Indexed Job in JOB_COMPLETION_INDEX."""
    text = environment.get("JOB_COMPLETION_INDEX", "0" if shards == 1 else "")
    if not re.fullmatch(r"[0-9]+", text):
        raise UserError(
            f"'--shards' is {shards} but JOB_COMPLETION_INDEX is {text!r}; run it as an Indexed Job, or with --shards 1"
        )
    if int(text) >= shards:
        raise UserError(
            f"JOB_COMPLETION_INDEX is {text} but '--shards' is {shards}; give --shards the Job's number of completions"
        )
    return Share(int(text), shards)
