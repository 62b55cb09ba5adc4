"""Checks of what jobs need from the data stack: the image in ECR, and the data set in the bucket."""

import re
from collections.abc import Iterator

from training_cluster.account.account_requests import RejectionError
from training_cluster.account.check_result import CheckResult, decided, skipped
from training_cluster.account.checked_deployment import Deployment
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images

__all__ = ["data_set_fits_on_lustre", "images_are_in_ecr"]

# 1,000 objects a page: enough for the shards of a data set, and an end for a bucket of single images.
_MOST_PAGES = 100
_GIB = 1024**3

_IMAGE = re.compile(
    r"\d{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/(?P<name>[^@:]+)@(?P<digest>.+)"
)
_NO_IMAGE = ("ImageNotFoundException", "RepositoryNotFoundException")
_PUSH = "run 'trainctl image build' and 'trainctl image push', or render with --image"


def images_are_in_ecr(deployment: Deployment) -> Iterator[CheckResult]:
    """Look up the images that `trainctl render` gives to jobs; without any, the newest of the repository."""
    recorded = {name: match for name, address in pushed_images().items() if (match := _IMAGE.fullmatch(address))}
    for name, match in recorded.items():
        size = _size(deployment, match)
        yield decided(
            f"image {name}",
            size is not None,
            actual=f"{size / _GIB:.1f} GiB" if size is not None else f"ECR has no {match['name']}@{match['digest']}",
            needed=f"the digest of {PUSHED_IMAGES}",
            remedy=_PUSH,
        )
    if not recorded:
        yield _newest(deployment)


def _size(deployment: Deployment, match: re.Match[str]) -> int | None:
    request = {"repositoryName": match["name"], "imageIds": [{"imageDigest": match["digest"]}]}
    try:
        answer = deployment.account.ask("ecr", "describe_images", region=match["region"], **request)
    except RejectionError as error:
        if error.code not in _NO_IMAGE:
            raise
        return None
    return int(answer["imageDetails"][0].get("imageSizeInBytes", 0))


def _newest(deployment: Deployment) -> CheckResult:
    check = "image"
    address = deployment.data.outputs.get("ImageRepositoryUri", "") if deployment.data else ""
    if not address:
        return _without_data_stack(deployment, check)
    repository = address.partition("/")[2]
    images = deployment.account.all("ecr", "describe_images", "imageDetails", repositoryName=repository)
    newest = max(images, key=lambda each: each["imagePushedAt"], default=None)
    return decided(
        check,
        newest is not None,
        actual=f"pushed {newest['imagePushedAt']:%Y-%m-%d}" if newest else f"{repository} has no image",
        needed="an image for the jobs",
        remedy=_PUSH,
    )


def data_set_fits_on_lustre(deployment: Deployment) -> Iterator[CheckResult]:
    """Compare the objects below each linked prefix with the file system; their sum must fit to be staged as a whole."""
    bucket = deployment.data.outputs.get("BucketName", "") if deployment.data else ""
    repositories = deployment.config.lustre.data_repositories
    if not bucket:
        yield _without_data_stack(deployment, "data set")
        return
    if not repositories:
        yield skipped("data set", "lustre.data_repositories is empty: nothing of the bucket appears in the file system")
        return
    capacity = deployment.config.lustre.capacity_gib
    for repository in repositories:
        objects, size, complete = _contents(deployment, bucket, repository.prefix)
        least = "" if complete else "at least "
        enlarge = "raise lustre.capacity_gib, or link a longer prefix"
        yield decided(
            f"data set of {repository.path}",
            0 < objects and size <= capacity * _GIB,
            actual=f"{least}{objects:,} objects, {size / _GIB:,.1f} GiB in s3://{bucket}/{repository.prefix}",
            needed=f"1 object or more, {capacity} GiB or less",
            remedy=enlarge if objects else _copy(bucket, repository.prefix),
        )


def _contents(deployment: Deployment, bucket: str, prefix: str) -> tuple[int, int, bool]:
    """Return the number and the bytes of the objects below a prefix, and whether that is all of them."""
    objects = size = 0
    for number, page in enumerate(deployment.account.pages("s3", "list_objects_v2", Bucket=bucket, Prefix=prefix), 1):
        found = page.get("Contents", ())
        objects, size = objects + len(found), size + sum(each["Size"] for each in found)
        if number == _MOST_PAGES:
            return objects, size, not page.get("IsTruncated")
    return objects, size, True


def _copy(bucket: str, prefix: str) -> str:
    return f"copy the data set: aws s3 cp --recursive <folder> s3://{bucket}/{prefix or 'data/'}"


def _without_data_stack(deployment: Deployment, check: str) -> CheckResult:
    stack = deployment.data_stack
    return skipped(
        check, f"there is no {stack} with it in {deployment.account.region} yet", f"run 'cdk deploy {stack}'"
    )
