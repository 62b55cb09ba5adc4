"""The check of the images that jobs run: in ECR, by their digests."""

import re
from collections.abc import Iterator

from training_cluster.account.check_result import CheckResult, decided
from training_cluster.account.checked_deployment import Deployment
from training_workloads.images.pushed_images import PUSHED_IMAGES, pushed_images
from training_workloads.manifests.values import GI

__all__ = ["images_are_in_ecr"]

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
            actual=f"{size / GI:.1f} GiB" if size is not None else f"ECR has no {match['name']}@{match['digest']}",
            needed=f"the digest of {PUSHED_IMAGES}",
            remedy=_PUSH,
        )
    if not recorded:
        yield _newest(deployment)


def _size(deployment: Deployment, match: re.Match[str]) -> int | None:
    request = {"repositoryName": match["name"], "imageIds": [{"imageDigest": match["digest"]}]}
    answer = deployment.account.find("ecr", "describe_images", _NO_IMAGE, region=match["region"], **request)
    return int(answer["imageDetails"][0].get("imageSizeInBytes", 0)) if answer else None


def _newest(deployment: Deployment) -> CheckResult:
    check = "image"
    repository = deployment.repository_name
    if repository is None:
        return deployment.without_data_stack(check)
    images = deployment.account.all("ecr", "describe_images", "imageDetails", repositoryName=repository)
    newest = max(images, key=lambda each: each["imagePushedAt"], default=None)
    return decided(
        check,
        newest is not None,
        actual=f"pushed {newest['imagePushedAt']:%Y-%m-%d}" if newest else f"{repository} has no image",
        needed="an image for the jobs",
        remedy=_PUSH,
    )
