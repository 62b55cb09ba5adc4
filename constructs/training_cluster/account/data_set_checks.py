"""The check of the data set: the objects in the bucket, against the size of the file system."""

from collections.abc import Iterator
from dataclasses import dataclass

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.lustre_state import find_associations
from training_cluster.account.units import GIB

__all__ = ["data_set_fits_on_lustre"]

# 1,000 objects a page: enough for the shards of a data set, and an end for a bucket of single images.
_MOST_PAGES = 100

_CHECK = "data set"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Link:
    """A prefix of a bucket that appears in the file system."""

    path: str
    bucket: str
    prefix: str


def data_set_fits_on_lustre(deployment: Deployment) -> Iterator[CheckResult]:
    """Look for objects below each linked prefix, and compare the sum of all with the file system.

    Only a data set that fits as a whole can be staged as a whole.
    """
    existing = deployment.config.existing_lustre
    links = _existing_links(deployment) if existing else _new_links(deployment)
    if links is None:
        yield deployment.without_data_stack(_CHECK)
        return
    if not links:
        yield skipped(_CHECK, "the file system has no data repository: nothing of a bucket appears in it")
        return
    total, complete = 0, True
    for link in links:
        objects, size, read = _contents(deployment, link)
        total, complete = total + size, complete and read
        yield decided(
            f"{_CHECK} of {link.path}",
            objects > 0,
            actual=f"{_least(read)}{objects:,} objects, {size / GIB:,.1f} GiB in s3://{link.bucket}/{link.prefix}",
            needed="1 object or more",
            remedy=_copy(link),
        )
    capacity = existing.capacity_gib if existing else deployment.config.lustre.capacity_gib
    enlarge = "enlarge the file system" if existing else "raise lustre.capacity_gib"
    yield decided(
        f"size of the {_CHECK}",
        total <= capacity * GIB,
        actual=f"{_least(complete)}{total / GIB:,.1f} GiB in {', '.join(link.path for link in links)}",
        needed=f"{capacity} GiB or less",
        remedy=f"{enlarge}, or link longer prefixes",
    )


def _least(complete: bool) -> str:
    return "" if complete else "at least "


def _new_links(deployment: Deployment) -> list[_Link] | None:
    """Return the links of the configuration; None before there is a bucket."""
    bucket = deployment.data.outputs.get("BucketName", "") if deployment.data else ""
    repositories = deployment.config.lustre.data_repositories
    return [_Link(path=each.path, bucket=bucket, prefix=each.prefix) for each in repositories] if bucket else None


def _existing_links(deployment: Deployment) -> list[_Link]:
    """Return the links that `existing_lustre` has already; without the file system there are none."""
    if deployment.existing_lustre is None:
        return []
    links = []
    for each in find_associations(deployment.account, deployment.existing_lustre["FileSystemId"]):
        bucket, _, prefix = each["DataRepositoryPath"].removeprefix("s3://").partition("/")
        links.append(_Link(path=each.get("FileSystemPath", "/"), bucket=bucket, prefix=prefix))
    return links


def _contents(deployment: Deployment, link: _Link) -> tuple[int, int, bool]:
    """Return the number and the bytes of the objects below a prefix, and whether that is all of them."""
    objects = size = 0
    pages = deployment.account.pages("s3", "list_objects_v2", Bucket=link.bucket, Prefix=link.prefix)
    for number, page in enumerate(pages, 1):
        found = page.get("Contents", ())
        objects, size = objects + len(found), size + sum(each["Size"] for each in found)
        if number == _MOST_PAGES:
            return objects, size, not page.get("IsTruncated")
    return objects, size, True


def _copy(link: _Link) -> str:
    return f"copy the data set: aws s3 cp --recursive <folder> s3://{link.bucket}/{link.prefix or 'data/'}"
