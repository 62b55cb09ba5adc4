"""A mirror: an ECR registry with copies of charts and images, for clusters without access to the internet."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from training_workloads.catalog.images import (
    CHOWN_IMAGE,
    DCGM_EXPORTER_IMAGE,
    ETCD_IMAGE,
    KUEUE_IMAGE,
    MPI_OPERATOR_IMAGE,
    NVIDIA_DEVICE_PLUGIN_IMAGE,
    Image,
)
from training_workloads.catalog.kubernetes_releases import KUBERNETES_RELEASES
from training_workloads.catalog.regions import PARTITIONS, Partition, partition_of
from training_workloads.catalog.registries import EKS_REGISTRIES, efa_plugin_image
from training_workloads.catalog.versions import (
    CLUSTER_AUTOSCALER,
    DCGM_EXPORTER,
    EFA_DEVICE_PLUGIN,
    KUEUE,
    NVIDIA_DEVICE_PLUGIN,
    HelmRelease,
)
from training_workloads.validation import Problem, Problems, enforce, known_names, one_of

__all__ = [
    "chart_repository",
    "ecr_registry",
    "mirror_commands",
    "mirror_in_partition",
    "mirror_is_dual_stack",
    "mirrored",
    "registry_region",
]

_RELEASES = (NVIDIA_DEVICE_PLUGIN, EFA_DEVICE_PLUGIN, CLUSTER_AUTOSCALER, KUEUE, DCGM_EXPORTER)
# And the EFA plugin's, which is of the mirror's region, and the autoscaler's, which is of the cluster's release.
_IMAGES = (
    MPI_OPERATOR_IMAGE,
    CHOWN_IMAGE,
    ETCD_IMAGE,
    NVIDIA_DEVICE_PLUGIN_IMAGE,
    KUEUE_IMAGE,
    DCGM_EXPORTER_IMAGE,
)

# https://docs.aws.amazon.com/AmazonECR/latest/userguide/Registries.html, with or without a prefix of its repositories;
# dkr-ecr is for IPv6 too, and -fips for modules validated by FIPS:
# https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-requests.html (read 2026-11-23)
_ECR = re.compile(
    r"(?P<account>[0-9]{12})\.dkr(?P<dual>[.-])ecr(?P<fips>-fips)?\.(?P<region>[a-z0-9-]+)\.(?P<domain>[a-z0-9.-]+)"
    r"(?P<prefix>(/[a-z0-9]+([._-]+[a-z0-9]+)*)*)"
)
_EXAMPLE = "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror"


def ecr_registry(name: str, mirror: Any) -> Problems:
    """Reject text other than the address of an ECR registry, with or without a prefix of its repositories."""
    found = _ECR.fullmatch(mirror) if isinstance(mirror, str) else None
    if not found:
        form = f"give the address of an ECR registry with or without a prefix, such as {_EXAMPLE}"
        yield Problem(path=(name,), given=mirror, fix=form)
        return
    region, partition = found["region"], partition_of(found["region"])
    if partition is None:
        regions = sorted(region for partition in PARTITIONS.values() for region in partition.regions)
        fix = known_names(region, regions)
        yield Problem(path=(name,), given=mirror, allowed=f"AWS has no region {region}", fix=fix)
    elif found["domain"] != (wanted := _domain(partition, dual_stack=found["dual"] == "-")):
        allowed = f"registries of {region} are not in {found['domain']}"
        registry = found["account"] + f".dkr{found['dual']}ecr{found['fips'] or ''}.{region}.{wanted}{found['prefix']}"
        fix = f"did you mean {registry}?" if wanted else "give the address with .dkr.ecr."
        yield Problem(path=(name,), given=mirror, allowed=allowed, fix=fix)


def mirror_in_partition(name: str, mirror: str, region: str) -> Problems:
    """Reject a registry of another partition than that of the cluster."""
    mirrors = registry_region(mirror)
    here, there = partition_of(region), partition_of(mirrors)
    if here and there and here != there:
        allowed = f"{mirrors} is of the partition {there.name}, and the cluster's {region} of {here.name}"
        yield Problem(path=(name,), given=mirror, allowed=allowed, fix=f"give a registry of {region}")


def mirror_is_dual_stack(mirror: str) -> bool:
    """Return whether an address is one for IPv4 and IPv6, which interface endpoints do not serve."""
    found = _ECR.fullmatch(mirror)
    return found is not None and found["dual"] == "-"


def chart_repository(mirror: str, chart: str) -> str:
    """Return the address of a chart in a mirror, in the one form to which CDK's function with Helm logs in.

    https://github.com/aws/aws-cdk/tree/main/packages/@aws-cdk/custom-resource-handlers/lib/aws-eks/kubectl-handler/helm
    """
    found = _ECR.fullmatch(mirror)
    partition = partition_of(found["region"]) if found else None
    if found and partition:
        mirror = f"{found['account']}.dkr.ecr.{found['region']}.{partition.domain}{found['prefix']}"
    return f"oci://{mirror}/{chart}"


def _domain(partition: Partition, *, dual_stack: bool) -> str | None:
    return partition.dual_stack_domain if dual_stack else partition.domain


def mirrored(image: Image, mirror: str | None) -> Image:
    """Return an image, or its copy: the mirror keeps the last part of the name, the tag and the digest.

    Args:
        image: The image.
        mirror: The registry with the copies, without a slash at its end. Default: that of the image.
    """
    return replace(image, name=f"{mirror}/{_last_part(image)}") if mirror else image


def mirror_commands(mirror: str, kubernetes_version: str) -> Iterator[str]:
    """Return shell commands that fill a mirror, for a machine with the AWS CLI, Helm and Skopeo.

    `docker push` makes a manifest with a new digest; Skopeo copies those of all platforms as they are.

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
    # With the credentials of the mirror, which another partition does not accept.
    plugin = efa_plugin_image(EKS_REGISTRIES.get(registry_region(mirror), EKS_REGISTRIES["us-west-2"]))
    images = (*_IMAGES, plugin, KUBERNETES_RELEASES[kubernetes_version].autoscaler_image)
    registry, _, prefix = mirror.partition("/")
    for private in dict.fromkeys([registry, *filter(_is_ecr, (image.name.partition("/")[0] for image in images))]):
        yield f"{_password(private)} | skopeo login --username AWS --password-stdin {private}"
    yield f"{_password(registry)} | helm registry login --username AWS --password-stdin {registry}"
    for name in sorted({_last_part(image) for image in images} | {each.chart for each in _RELEASES}):
        repository = "/".join(filter(None, [prefix, name]))
        yield f"aws ecr create-repository --region {registry_region(registry)} --repository-name {repository}"
    for release in _RELEASES:
        yield from _copy_chart(release, mirror)
    for image in images:
        # Skopeo takes a tag or a digest. A copy by the tag has the digest of the source too.
        source = f"{image.name}@{image.digest}" if image.digest else str(image)
        copy = f"{mirrored(image, mirror).name}:{image.tag}"
        yield f"skopeo copy --all --preserve-digests docker://{source} docker://{copy}"


def _copy_chart(release: HelmRelease, mirror: str) -> Iterator[str]:
    in_registry = release.repository.startswith("oci://")
    chart = release.upstream_chart if in_registry else f"{release.chart} --repo {release.repository}"
    archive = f"{release.chart}-{release.version}.tgz"
    yield f"helm pull {chart} --version {release.version}"
    check = f"echo '{release.digest}  {archive}' | sha256sum --check --strict && " if release.digest else ""
    yield f"{check}helm push {archive} oci://{mirror}"


def _last_part(image: Image) -> str:
    return image.name.rpartition("/")[2]


def _is_ecr(registry: str) -> bool:
    return _ECR.fullmatch(registry) is not None


def registry_region(registry: str) -> str:
    """Return the region of an ECR registry, an address that `ecr_registry` accepts."""
    found = _ECR.fullmatch(registry)
    assert found
    return found["region"]


def _password(registry: str) -> str:
    return f"aws ecr get-login-password --region {registry_region(registry)}"
