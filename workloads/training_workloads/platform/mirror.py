"""A mirror: an ECR registry with copies of charts and images, for clusters without access to the internet."""

from collections.abc import Iterator
from typing import Any

from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.versions import (
    CHOWN_IMAGE,
    CLUSTER_AUTOSCALER,
    EFA_DEVICE_PLUGIN,
    KUEUE,
    MPI_OPERATOR_IMAGE,
    NVIDIA_DEVICE_PLUGIN,
)
from training_workloads.validation import Problems, enforce, matches, one_of

__all__ = ["ecr_registry", "mirror_commands", "mirrored"]

_RELEASES = (NVIDIA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN, CLUSTER_AUTOSCALER, KUEUE)

# https://docs.aws.amazon.com/AmazonECR/latest/userguide/Registries.html, with or without a prefix of its repositories.
_ECR = r"\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?(/[a-z0-9._-]+)*"


def ecr_registry(name: str, mirror: Any) -> Problems:
    """Reject what is not the address of an ECR registry, with or without a prefix of its repositories."""
    example = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"
    form = f"the address of an ECR registry with or without a prefix, such as {example}"
    yield from matches(name, mirror, _ECR, form)


def mirrored(image: str, mirror: str | None) -> str:
    """Return the address of an image, or of its copy: the mirror keeps the last part of the name.

    Args:
        image: Address with or without a tag, such as `nvcr.io/nvidia/k8s-device-plugin`.
        mirror: The registry with the copies, without a slash at its end. Default: that of the image.
    """
    return f"{mirror}/{image.rpartition('/')[2]}" if mirror else image


def mirror_commands(mirror: str, kubernetes_version: str) -> Iterator[str]:
    """Return shell commands that fill a mirror, for a machine with the AWS CLI, Helm and Docker.

    Args:
        mirror: The registry, such as `111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror`.
        kubernetes_version: Release of the cluster, one of the catalog's.

    Raises:
        InputError: `mirror` is not an ECR registry, or the release is not in the catalog.
    """
    rules = (
        lambda given: ecr_registry("mirror", given[0]),
        lambda given: one_of("kubernetes_version", given[1], KUBERNETES_RELEASES),
    )
    enforce((mirror, kubernetes_version), rules)
    autoscaler = KUBERNETES_RELEASES[kubernetes_version].autoscaler_image_tag
    images = [MPI_OPERATOR_IMAGE, CHOWN_IMAGE]
    images += [f"{release.image}:{release.image_tag or autoscaler}" for release in _RELEASES]
    registry, _, prefix = mirror.partition("/")
    for private in dict.fromkeys([registry, *filter(_is_ecr, (image.partition("/")[0] for image in images))]):
        yield f"{_password(private)} | docker login --username AWS --password-stdin {private}"
    yield f"{_password(registry)} | helm registry login --username AWS --password-stdin {registry}"
    names = {image.rpartition("/")[2].partition(":")[0] for image in images} | {each.chart for each in _RELEASES}
    for name in sorted(names):
        repository = "/".join(filter(None, [prefix, name]))
        yield f"aws ecr create-repository --region {_region(registry)} --repository-name {repository}"
    for release in _RELEASES:
        in_registry = release.repository.startswith("oci://")
        chart = release.upstream_chart if in_registry else f"{release.chart} --repo {release.repository}"
        yield f"helm pull {chart} --version {release.version}"
        yield f"helm push {release.chart}-{release.version}.tgz oci://{mirror}"
    for image in images:
        copy = mirrored(image, mirror)
        yield f"docker pull {image} && docker tag {image} {copy} && docker push {copy}"


def _is_ecr(registry: str) -> bool:
    return ".dkr.ecr." in registry


def _region(registry: str) -> str:
    return registry.split(".")[3]


def _password(registry: str) -> str:
    return f"aws ecr get-login-password --region {_region(registry)}"
