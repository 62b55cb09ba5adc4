"""Checks of Lustre beside its bucket: whether the data set fits on it, and whether its exports have arrived."""

from collections.abc import Iterator
from dataclasses import dataclass

from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_cluster.account.lustre_state import NO_LAG, find_associations, read_lustre
from training_workloads.manifests.values import GI

__all__ = ["data_set_fits_on_lustre", "exports_are_up_to_date"]

# 1,000 objects a page: enough for the shards of a data set, and an end for a bucket of single images.
_MOST_PAGES = 100

_DATA_SET = "data set"
_EXPORTS = "Lustre exports"


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
        yield deployment.without_data_stack(_DATA_SET)
        return
    if not links:
        yield skipped(_DATA_SET, "the file system has no data repository: nothing of a bucket appears in it")
        return
    total, complete = 0, True
    for link in links:
        objects, size, read = _contents(deployment, link)
        total, complete = total + size, complete and read
        yield decided(
            f"{_DATA_SET} of {link.path}",
            objects > 0,
            actual=f"{_least(read)}{objects:,} objects, {size / GI:,.1f} GiB in s3://{link.bucket}/{link.prefix}",
            needed="1 object or more",
            remedy=_copy(link),
        )
    capacity = existing.capacity_gib if existing else deployment.config.lustre.capacity_gib
    enlarge = "enlarge the file system" if existing else "raise lustre.capacity_gib"
    yield decided(
        f"size of the {_DATA_SET}",
        total <= capacity * GI,
        actual=f"{_least(complete)}{total / GI:,.1f} GiB in {', '.join(link.path for link in links)}",
        needed=f"{capacity} GiB or less",
        remedy=f"{enlarge}, or link longer prefixes",
    )


def _least(complete: bool) -> str:
    return "" if complete else "at least "


def _new_links(deployment: Deployment) -> list[_Link] | None:
    """Return the links of the configuration; None before there is a bucket."""
    bucket = deployment.bucket_name
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


def exports_are_up_to_date(deployment: Deployment) -> Iterator[CheckResult]:
    """Report changes that wait for their export, and data repositories that do not work."""
    if not deployment.lustre_ids:
        yield skipped(_EXPORTS, f"there is no {deployment.cluster_stack} with a file system yet")
    for id in deployment.lustre_ids:
        state = read_lustre(deployment.account, id)
        if state is None:
            yield skipped(_EXPORTS, f"{deployment.account.region} of this account has no {id} (any more)")
            continue
        check = f"{_EXPORTS} of {id}"
        if state.has_unknown_exports and not state.unexported:
            yield skipped(check, NO_LAG, "try again some minutes after a job has written")
            continue
        known = "unknown" if state.export_lag_seconds is None else f"{state.export_lag_seconds} s"
        yield decided(
            check,
            not state.unexported,
            actual=state.unexported or f"{state.lifecycle}, lag {known}",
            needed="no change that waits",
            remedy="wait; 'aws fsx describe-data-repository-associations' shows a fault, the key of the bucket often",
        )
